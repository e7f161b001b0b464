"""Started by llm-fleet-host.service."""

import sys

from inference_host.boot import boot

sys.exit(boot())
