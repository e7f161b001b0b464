"""A run's batch files: checked, submitted, listed, and the log of a job shown."""

from __future__ import annotations

import base64
import gzip
import io
import json
import shlex
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_fleet.catalog.training_environments import JobSetting, job_stages, shared_settings
from llm_fleet.cli.session import CutOff, Done, Session
from llm_fleet.cli.verb import refuse
from llm_fleet.fleet_file.clusters import NodeSetupModel
from llm_fleet.jobs.batch_file import RUN, SUFFIX, BatchFile, check_batch_file, check_nodes
from llm_fleet.jobs.settings import TrainingRun
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.jobs import TrainingPartition

if TYPE_CHECKING:
    from llm_fleet.jobs.settings import TrainingRun

_FOLDER = Path(__file__).parent / "on_cluster"


def cluster_script(name: str, **variables: str) -> str:
    """Return the script `name`, e.g. `submit`, with `variables` set before its first line."""
    text = (_FOLDER / f"{name}.sh").read_text(encoding="utf-8")
    return "".join(f"{key}={shlex.quote(value)}\n" for key, value in variables.items()) + text


def check_edited(files: Iterable[Path], partition: TrainingPartition | None = None) -> list[Problem]:
    """Return what is wrong with `files`, on `partition` where it is known.

    A stage is told by the file's name; of others, settings are not judged.
    """
    return [problem.under(str(file)) for file in files for problem in _check(file, partition)]


def _check(file: Path, partition: TrainingPartition | None) -> list[Problem]:
    if file.exists() and not (file.is_file() or file.is_dir()):  # A pipe or a device may never end.
        message = "this is no regular file, so it can be no batch file"
        return [Problem(code=Code.BATCH_FILE, message=message, remedy="name a batch file")]
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or "") if isinstance(error, OSError) else "it is not UTF-8"
        message = f"the file cannot be read: {reason.lower()}"
        return [Problem(code=Code.BATCH_FILE, message=message, remedy="name a batch file")]
    found = check_batch_file(text, known=_known(file.name))
    if partition is not None:
        found += check_nodes(BatchFile.parse(text), partition=partition.name, nodes=partition.nodes)
    return found


def _known(name: str) -> Iterable[str] | None:
    if name == RUN:
        return shared_settings().settings
    stage = job_stages().get(name.removesuffix(SUFFIX))
    return stage.settings if stage else None


def run_of(runs: Mapping[str, TrainingRun], name: str | None) -> TrainingRun:
    """Return the run `name`, or the only one there is. Raises `FleetError` (LF884)."""
    if name is None and len(runs) == 1:
        return next(iter(runs.values()))
    if name is not None and name in runs:
        return runs[name]
    names = ", ".join(runs)
    problem = Problem(
        code=Code.BATCH_STAGE,
        message="the fleet file has no run of this name" if name else "nobody told which run",
        value=name,
        allowed=names,
        remedy=did_you_mean(name or "", runs, otherwise="name one of these" if runs else "write it under `jobs:`"),
        path=("jobs",),
    )
    raise FleetError([problem])


_OF_THE_IMAGE = "#1000"
"""The user that AWS's images bring, `ubuntu` or `ec2-user`, as sudo takes an id."""


def user_of(cluster: NodeSetupModel, requested: str | None) -> str:
    """Return whom to submit as: whoever is `asked` for, else the one of the cluster's `users:`, else the image's.

    Raises `FleetError` (LF892) when it has several and nobody said which, or none of that name.
    """
    names = list(cluster.people)
    if requested in names or (requested is not None and not names):
        return requested
    if requested is None and len(names) < 2:
        return names[0] if names else _OF_THE_IMAGE
    refuse(
        Code.JOBS_USER,
        "the cluster has no such user" if requested else "nobody told which of the cluster's users the jobs belong to",
        did_you_mean(requested or "", names, otherwise=f"name one with --user: {', '.join(names)}"),
        value=requested,
        subject=f"cluster {cluster.cluster_name}",
    )


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


_NO_LOG = 4
_PAUSE = "2"
"""Seconds between two looks whether the job goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLog:
    """What a job of a run writes: that with `job_id`, else the newest of `stage`."""

    run: str
    run_folder: str
    stage: str
    job_id: str | None = None

    def show(self, session: Session, line: Callable[[str], None], *, lines: int) -> None:
        """Hand over the last `lines`. Raises `FleetError` (LF888, LF891)."""
        done = session.run(self._script(lines, follow=False))
        self._check(done.code)
        for one in done.lines:
            line(one)

    def follow(self, session: Session, line: Callable[[str], None]) -> None:
        """Hand over all that it wrote and writes until it has ended, in as many sessions as that takes.

        Raises `FleetError` (LF888, LF891).
        """
        count = 0
        failures = 0

        def hear(text: str) -> None:
            nonlocal count, failures
            count, failures = count + 1, 0
            line(text)

        while True:
            try:
                code = session.follow(self._script(count + 1, follow=True), hear)
            except CutOff as error:
                # A session ends when nothing is written for 20 minutes, and breaks off now and then.
                failures += 1
                session.pause(failures, str(error))
                continue
            self._check(code)
            return

    def _script(self, lines: int, *, follow: bool) -> str:
        """Return what the node runs. `lines`: how many of the last, or with `follow` from which on."""
        return cluster_script(
            "log",
            run=self.run,
            run_folder=self.run_folder,
            stage=self.stage,
            job=self.job_id or "",
            lines=str(lines),
            follow="yes" if follow else "no",
            pause=_PAUSE,
        )

    def _check(self, code: int) -> None:
        if code == _NO_LOG:
            what = f"job {self.job_id}" if self.job_id else f"stage {self.stage}"
            refuse(
                Code.JOBS_NO_LOG,
                f"{what} has written nothing in {self.run_folder}/logs",
                "wait until it runs (`squeue` on the cluster), or name another with --stage or --job",
                subject=f"run {self.run}",
            )
        if code:
            refuse(
                Code.JOBS_REFUSED, f"its log cannot be read: exit code {code}", "look on the cluster", subject=self.run
            )


def listing_text(runs: Mapping[str, TrainingRun] | None) -> str:
    """Return the stages, and the runs of a fleet file where there is one, for people."""
    width = max(map(len, job_stages())) + 2
    lines = ["stages:", *(f"  {name:<{width}}{stage.summary}" for name, stage in job_stages().items())]
    if runs is None:
        return "\n".join([*lines, ""])
    lines += ["", "runs:" if runs else "runs: none; name them under `jobs:` in the fleet file"]
    width = max(map(len, runs), default=0) + 2
    for name, run in runs.items():
        lines += [f"  {name:<{width}}{_in_words(run)}", *(f"  {'':<{width}}{line}" for line in _fit(run))]
    return "\n".join([*lines, ""])


def listing_json(runs: Mapping[str, TrainingRun] | None) -> str:
    """Return the same as JSON, with every setting of every stage."""
    stages = {
        name: {"file": stage.file, "summary": stage.summary, "settings": _settings(stage.settings)}
        for name, stage in job_stages().items()
    }
    reported: dict[str, Any] = {"run_settings": _settings(shared_settings().settings), "stages": stages}
    if runs is not None:
        reported["runs"] = {name: _facts(run) for name, run in runs.items()}
    return json.dumps(reported, indent=2) + "\n"


def _in_words(run: TrainingRun) -> str:
    facts = _facts(run)
    nodes = f"{facts['nodes']} node{'' if facts['nodes'] == 1 else 's'}"
    place = f"cluster {facts['cluster']}, partition {facts['partition']}"
    return f"{facts['model']} by {facts['backend']} on {nodes} of {place}"


def _fit(run: TrainingRun) -> list[str]:
    """Return how a run is spread, what a process of it takes, as estimated, and what else is to be known of it."""
    from llm_fleet.rules.inference.fit import in_gib
    from llm_fleet.rules.training.run_spread import breakdown, spread
    from llm_fleet.rules.training.smp_run import smp_remarks_of

    lines, memory = [spread(run.plan)], run.memory
    if memory is not None:
        of = f"{in_gib(memory.total)} of {in_gib(memory.usable)} that a process may fill"
        lines.append(f"estimated {of}: {breakdown(memory)}")
    return [*lines, *(f"note: {remark}" for remark in smp_remarks_of(run))]


def _facts(run: TrainingRun) -> dict[str, Any]:
    from llm_fleet.jobs.settings import stages_of
    from llm_fleet.rules.training.run_spread import spread
    from llm_fleet.rules.training.smp_run import smp_remarks_of

    return {
        "model": run.model,
        "backend": run.plan.backend.value,
        "nodes": run.plan.nodes,
        "cluster": run.partition.cluster,
        "partition": run.partition.name,
        "folder": run.plan.folder,
        "spread": spread(run.plan),
        "memory": None if run.memory is None else asdict(run.memory),
        "remarks": smp_remarks_of(run),
        "stages": list(stages_of(run)),
    }


def _settings(settings: Mapping[str, JobSetting]) -> dict[str, Any]:
    return {name: {"default": one.default, "text": one.text, "comment": one.comment} for name, one in settings.items()}
