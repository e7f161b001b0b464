"""Puts the nodes' own code within reach, to be queried the same questions as the CDK side."""

import sys
from pathlib import Path

SCRIPTS = str(Path(__file__).parents[2] / "lifecycle_scripts")
if SCRIPTS not in sys.path:
    sys.path.insert(0, SCRIPTS)
