"""Synthesis time: kinds that are not in the fleet file are not imported, and the ratio to an empty app is limited.

The measures depend little on the load of the machine: modules, and CPU seconds of Python and Node.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tools.bench.__main__ import EXAMPLE, OFF, synth_of
from tools.bench.runs import Case, interleaved
from tools.synth_environment import ROOT, use_project_node

MOST_MODULES = 210
"""The maximum of llm-fleet's modules in a synth of the README's example, which imports 193 (1,004 before kinds were
imported by name)."""
MOST_RATIO = 4.5
"""The maximum ratio of its CPU seconds to those of an empty app, with the project's Node for both: 3.0 to 3.7,
depending on other work on the machine. The number of modules is more precise: it is the same in every run."""
NOT_NAMED = {"parallelcluster", "inference", "sagemaker", "monitoring", "notifications", "jobs", "needs", "cli"}
"""Folders of llm-fleet that a fleet of one HyperPod cluster does not use."""
PROGRAM = """
import atexit, json, runpy, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
runpy.run_path("app.py", run_name="__main__")
"""


def imported(example: str, folder: Path) -> list[str]:
    """Return the modules of llm-fleet that a new process imports in a synth of `example`."""
    environment = {**os.environ, **OFF, "CDK_OUTDIR": str(folder), "LLM_FLEET_FILE": f"examples/{example}.yaml"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [name for name in json.loads(done.stderr.splitlines()[-1]) if name.startswith("llm_fleet")]


def test_a_fleet_of_one_hyperpod_cluster_imports_no_other_kind(tmp_path: Path) -> None:
    found = imported("hyperpod-trn1", tmp_path)
    assert [name for name in found if name.split(".")[1:2] in [[folder] for folder in NOT_NAMED]] == []
    stacks = {name.split(".")[1] for name in found if name.startswith("llm_fleet_stacks.")}
    assert not stacks & {"inference_stacks", "monitoring_stacks"}
    assert len(found) <= MOST_MODULES


def test_the_ratio_to_an_empty_app_is_limited() -> None:
    """The minimum of some interleaved runs, because other work on the machine only adds time."""
    use_project_node()
    cases = {
        "empty": Case(arguments=("tools/bench/empty_app.py",), environment=OFF),
        "example": synth_of(EXAMPLE, OFF),
    }
    samples = interleaved(cases, rounds=2, progress=lambda number: None)
    assert samples["example"].processor / samples["empty"].processor < MOST_RATIO
