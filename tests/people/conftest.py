"""Makes the code of the nodes importable, so that tests can compare it with the CDK side."""

import sys
from pathlib import Path

SCRIPTS = str(Path(__file__).parents[2] / "lifecycle_scripts")
if SCRIPTS not in sys.path:
    sys.path.insert(0, SCRIPTS)
