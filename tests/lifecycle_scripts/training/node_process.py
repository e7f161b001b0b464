"""A node in a process of its own, on storage that other nodes share: `python node_process.py <root>
<interpreter>`, where `interpreter` is what its `python3` does.

Runs the steps that use shared storage, and prints whether it built the environment.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[3] / "lifecycle_scripts"))
sys.path.insert(0, str(HERE.parents[3]))

from llm_fleet_node.steps import training_environment, training_programs  # noqa: E402
from tests.lifecycle_scripts.step_node import program  # noqa: E402
from tests.lifecycle_scripts.training.training_node import cached, make, wheel, with_files  # noqa: E402

root = Path(sys.argv[1])
node = make(root)
program(root, "python3", sys.argv[2])
node = with_files(node, cached(node, wheel("tiny-train"), "tiny_train-1.0-py3-none-any.whl", name="tiny-train"))
for step in (training_programs.STEP, training_environment.STEP):
    step.apply(node)
    step.verify(node)
print("built" if any("installed" in change for change in node.host.changes) else "found")
