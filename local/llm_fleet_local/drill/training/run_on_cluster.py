"""A training run of the fleet file on a cluster of the drill; its stages are submitted as by `llm-fleet jobs`."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

from llm_fleet.cli.jobs.submission import Submission
from llm_fleet.cli.session import Target
from llm_fleet.jobs.render_run import render_run
from llm_fleet.jobs.settings import TrainingRun
from llm_fleet_local.drill.nodes.node import Node
from llm_fleet_local.drill.services import Services
from llm_fleet_local.drill.slurm import Job, Slurm
from llm_fleet_local.drill.training.metrics import Row, read_result, read_rows
from llm_fleet_local.drill.training.node_session import NodeSession

USER = "ada"
"""Owner of the jobs: a user of the fleet, not root."""
_ENDS = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")


class JobFailed(AssertionError):
    """A stage failed; the message has the end of its log."""


class Ground(Protocol):
    """A cluster that runs jobs: HyperPod or ParallelCluster."""

    @property
    def login(self) -> Node:
        """The node that jobs are submitted on."""
        ...

    @property
    def worker(self) -> Node:
        """A node that jobs run on."""
        ...

    @property
    def region(self) -> str:
        """The region that it is in."""
        ...

    @property
    def slurm(self) -> Slurm:
        """Slurm commands on the controller."""
        ...

    @property
    def services(self) -> Services:
        """The servers outside the nodes."""
        ...

    def on_machine(self, path: str) -> Path:
        """Return the path on this machine of `path` on the nodes' Lustre file system."""
        ...


class RunOnCluster:
    """One run. All its files are in its folder on the shared file system."""

    def __init__(self, cluster: Ground, run: TrainingRun, *, name: str | None = None) -> None:
        """Set the cluster and the run, with another `name` if given."""
        self._cluster = cluster
        self.run = run if name is None else run.model_copy(update={"name": name, "folder": None})
        self.jobs: dict[str, str] = {}
        """Ids of the submitted jobs, by stage; for a stage that was submitted twice, the last one."""

    @property
    def folder(self) -> Path:
        """The run's folder on this machine."""
        return self._cluster.on_machine(self.run.plan.folder)

    @property
    def rows(self) -> list[Row]:
        """All steps so far."""
        return read_rows(self.folder)

    @property
    def result(self) -> dict[str, Any]:
        """The run's result.json. Raises `FileNotFoundError` before the run has ended."""
        return read_result(self.folder)

    def submit(
        self, *stages: str, settings: Mapping[str, str] | None = None, files: Mapping[str, str] | None = None
    ) -> None:
        """Submit `stages`, each after the previous one, from the login node. Raises `FleetError` if Slurm rejects them.

        `settings`: settings of batch files, in addition to those of the run. `files`: other batch files, by name.
        """
        login = self._cluster.login
        target = Target(name=login.name, region=self._cluster.region, ssm=login.name)
        submission = Submission(
            run=self.run.name,
            run_folder=self.run.plan.folder,
            files=files or render_run(self.run, stages=stages, settings=settings),
            stages=stages,
            id=f"drill-{token_hex(4)}",
        )
        session = NodeSession(login, user=USER, target=target)
        self.jobs |= {one.stage: one.job_id for one in submission.send(session)}

    def wait(self, stage: str, *, seconds: float) -> Job:
        """Wait until `stage` has succeeded; return its job in Slurm. Raises `JobFailed` or `NotInTime`."""
        job = self._cluster.slurm.wait_for_job(self.jobs[stage], *_ENDS, seconds=seconds)
        if job.state != "COMPLETED":
            raise JobFailed(f"{stage} of {self.run.name} ended as {job.state}, {job.ended}:\n{self.log(stage)[-4000:]}")
        return job

    def log(self, stage: str) -> str:
        """Return the log of `stage` so far, over all its starts."""
        path = self.folder / "logs" / f"{self.run.name}-{stage}-{self.jobs[stage]}.out"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def take_data_of(self, other: RunOnCluster) -> None:
        """Copy the model and tokens of `other`, which may be on another cluster."""
        mine = shlex.quote(self.run.plan.folder)
        self.as_user(f"mkdir -p {mine}")
        for name in ("weights", "tokens"):
            shutil.copytree(other.folder / name, self.folder / name)
        self._cluster.worker.run("chown", "-R", f"{USER}:", self.run.plan.folder)

    def as_user(self, script: str) -> str:
        """Run a bash script as the run's user on a worker; return its output. Raises `CommandError`."""
        return self._cluster.worker.run("sudo", "-n", "-H", "-u", USER, "bash", "-e", input=script, timeout=120).stdout
