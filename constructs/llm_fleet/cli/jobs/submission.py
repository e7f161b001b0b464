"""Sends a run's batch files to the cluster and submits them, all or none."""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.jobs.cluster_script import cluster_script
from llm_fleet.cli.session.session import Done, Session
from llm_fleet.rules.codes import Code


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A job."""

    stage: str
    job_id: str
    log: str
    """Where the node finds what it writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What is submitted. `files`: batch files and `run.sh`, by name; `stages`: in their order, each after the last."""

    run: str
    run_folder: str
    files: Mapping[str, str]
    stages: Sequence[str]
    id: str
    """What tells it from others, e.g. `20261120-221500-3f2a`."""

    def send(self, session: Session) -> tuple[Submitted, ...]:
        """Submit it through `session`. Raises `FleetError` (LF888 to LF890): then no job of it is left."""
        done = session.run(self.script())
        if done.code:
            self._refuse(done)
        ids = {words[1]: words[2] for words in map(str.split, done.lines) if words[:1] == ["submitted"]}
        return tuple(
            Submitted(stage=stage, job_id=ids[stage], log=f"{self.run_folder}/logs/{self.run}-{stage}-{ids[stage]}.out")
            for stage in self.stages
        )

    def script(self) -> str:
        """Return what the node runs."""
        return cluster_script(
            "submit",
            run=self.run,
            run_folder=self.run_folder,
            id=self.id,
            files=_packed(self.files),
            stages=" ".join(self.stages),
        )

    def _refuse(self, done: Done) -> None:
        said = "; ".join(line.strip() for line in done.lines if line.strip() and not line.startswith("submitted "))
        refuse(
            Code.JOBS_REFUSED,
            f"the cluster did not take it, and nothing was submitted: {said or f'exit code {done.code}'}",
            "mend what it names; `sinfo` on the cluster shows partitions and nodes",
            subject=f"run {self.run}",
        )


def _packed(files: Mapping[str, str]) -> str:
    """Return the files as one word: a tar archive, the same for the same files."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name, text in sorted(files.items()):
            data = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return base64.b64encode(packed.getvalue()).decode()
