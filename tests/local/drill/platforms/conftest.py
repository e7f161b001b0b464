"""The code of nodes is imported under the same names as on nodes."""

import sys

from tools.synth_environment import ROOT

sys.path.insert(0, str(ROOT / "lifecycle_scripts"))
