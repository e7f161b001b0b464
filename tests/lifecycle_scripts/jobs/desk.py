"""A folder of batch files, and a node that runs them with recorders instead of the programs that they call."""

import argparse
import ast
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llm_fleet_training.__main__ import parser

JOBS = Path(__file__).parents[3] / "lifecycle_scripts" / "jobs"
PROGRAMS = (
    "srun", "scontrol", "squeue", "aws", "neuron_parallel_compile", "all_reduce_perf", "nccom-test", "tensorboard",
)  # fmt: skip
SPOOLED = "slurm_script"
"""The name of slurmd's copy of a batch file."""


@dataclass(frozen=True)
class Ended:
    """How a batch file ended."""

    code: int
    said: str
    calls: list[dict[str, Any]] = field(repr=False)

    def of(self, name: str) -> list[list[str]]:
        """The arguments of each call of a program."""
        return [call["words"] for call in self.calls if call["name"] == name]

    def environment(self, name: str) -> dict[str, str]:
        """Its environment in the last call."""
        return [call for call in self.calls if call["name"] == name][-1]["environment"]


def understood(words: list[str]) -> argparse.Namespace:
    """The training program's settings from a command line; each option must be written in full."""
    own = words[words.index("llm_fleet_training") + 1 :]
    reported = parser(own[0]).parse_args(own)
    given = {word[2:].replace("-", "_") for word in own if word.startswith("--")}
    assert given <= vars(reported).keys(), f"not an option of {own[0]}: {given - vars(reported).keys()}"
    return reported


class Desk:
    """The user's folder is `self.folder`; the node's root is `self.root`."""

    def __init__(
        self, place: Path, *, platform: str = "parallelcluster", kind: str = "venv", accelerator: str = "neuron"
    ):
        self.root = place
        self.shared = place / "fsx"
        self.folder = place / "home" / "llama2 7b"
        self.records = place / "records"
        self.settings = place / "etc/llm-fleet/training.sh"
        self.behavior: dict[str, Any] = {}
        for one in (self.records, self.shared / "llm-fleet", self.settings.parent, place / "bin", place / "spool"):
            one.mkdir(parents=True)
        shutil.copytree(JOBS, self.folder)
        if platform == "hyperpod":
            (place / "opt/sagemaker_cluster").mkdir(parents=True)
        self._programs(place / "bin")
        self._settings(platform, kind, accelerator)

    @property
    def run(self) -> Path:
        """The run's folder."""
        return self.shared / "runs" / "llama2-7b"

    def after(self, *stages: str) -> "Desk":
        """Create the output of earlier stages."""
        for stage in stages:
            (self.run / stage).mkdir(parents=True, exist_ok=True)
            (self.run / stage / "something").write_text("")
        return self

    def set(self, file: str, **values: str) -> "Desk":
        """Edit settings in a batch file."""
        place = self.folder / file
        lines = place.read_text().split("\n")
        for name, value in values.items():
            number = next(index for index, line in enumerate(lines) if line.startswith(f"{name}="))
            lines[number] = f"{name}={value}"
        place.write_text("\n".join(lines))
        return self

    def reported(self, **values: str) -> "Desk":
        """Change the node's settings of jobs."""
        with self.settings.open("a") as file:
            file.writelines(f"export {name}={value!r}\n" for name, value in values.items())
        return self

    def submit(self, stage: str, *, nodes: int = 2, signals: signal.Signals | None = None, **environment: str) -> Ended:
        """Run a stage as slurmd does: from a copy of the script, with Slurm's variables."""
        script = self.root / "spool" / SPOOLED
        shutil.copy(self.folder / f"{stage}.sbatch", script)
        (self.records / "calls").write_text("")
        (self.records / "behavior").write_text(repr(self.behavior))
        reported = self._environment(nodes) | environment
        process = subprocess.Popen(
            ["bash", str(script)], env=reported, cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if signals:
            self._when_running(process, nodes, signals)
        said, _ = process.communicate(timeout=30)
        calls = [ast.literal_eval(line) for line in (self.records / "calls").read_text().splitlines()]
        return Ended(process.returncode, said, calls)

    def _when_running(self, process: "subprocess.Popen[str]", tasks: int, number: int) -> None:
        deadline = time.monotonic() + 10
        while (self.records / "calls").read_text().count("'name': 'python'") < tasks and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        time.sleep(0.1)
        (self.records / "go").write_text("")

    def _environment(self, nodes: int) -> dict[str, str]:
        hosts = [f"trn1-st-a-{number}" for number in range(4, 4 + nodes)]
        return {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "HOME": str(self.root / "home"),
            "HOSTNAME": hosts[0],
            "HOSTS": " ".join(hosts),
            "RECORDS": str(self.records),
            "LLM_FLEET_ROOT": str(self.root),
            "LLM_FLEET_TRAINING_SH": str(self.settings),
            "LLM_FLEET_REQUEUE_WAIT": "0",
            "HYPERPOD": "1" if (self.root / "opt").exists() else "",
            "SLURM_JOB_ID": "41",
            "SLURM_JOB_NUM_NODES": str(nodes),
            "SLURM_JOB_NODELIST": f"trn1-st-a-[4-{3 + nodes}]" if nodes > 1 else hosts[0],
            "SLURM_SUBMIT_DIR": str(self.folder),
        }

    def _programs(self, folder: Path) -> None:
        lines = ("import sys", f"sys.path.insert(0, {str(Path(__file__).parent)!r})", "import recorder")
        (folder / "recorder").write_text("\n".join([f"#!{sys.executable} -IS", *lines, "sys.exit(recorder.main())\n"]))
        (folder / "recorder").chmod(0o755)
        for name in PROGRAMS:
            (folder / name).symlink_to("recorder")

    def _settings(self, platform: str, kind: str, accelerator: str) -> None:
        environments = self.shared / "llm-fleet/environments"
        environment = environments / ("neuron-2.28.1.sqsh" if kind == "container" else "neuron-2.28.1")
        if kind == "container":
            environments.mkdir()
            environment.write_text("")
            (self.root / "bin/python3").symlink_to("recorder")
        elif kind != "none":
            (environment / "bin").mkdir(parents=True)
            (environment / "bin/python").symlink_to(self.root / "bin/recorder")
        own = {
            "PLATFORM": platform,
            "CLUSTER": "train",
            "REGION": "us-west-2",
            "FLEET": "demo",
            "TRAINING": str(self.shared / "llm-fleet"),
            "PROGRAMS": str(JOBS.parent),
            "JOBS": str(JOBS),
            "ENVIRONMENT": "" if kind == "none" else str(environment),
            "ENVIRONMENT_KIND": kind,
            "PYTHON": f"{environment}/bin/python" if kind in ("venv", "conda") else "python3",
            "ACCELERATOR": accelerator,
            "PROCESSES": "32",
            "COMPILE_CACHE": str(self.shared / "llm-fleet/compile-cache"),
            "HUB_TOKEN_SECRET": "",
        }
        self.settings.write_text("".join(f"export LLM_FLEET_{name}='{value}'\n" for name, value in own.items()))
        fabric = (
            'export FI_PROVIDER="${FI_PROVIDER-efa}"\nexport NEURON_RT_EXEC_TIMEOUT="${NEURON_RT_EXEC_TIMEOUT-600}"\n'
        )
        self.settings.with_name("fabric.sh").write_text(fabric)
        self.reported()
        with self.settings.open("a") as file:
            file.write(f". '{self.settings.with_name('fabric.sh')}'\n")
