"""The code that runs on nodes is read by the same names as there."""

import sys

from tools.synth_environment import ROOT

sys.path.insert(0, str(ROOT / "lifecycle_scripts"))
