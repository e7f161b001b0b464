"""Checks, submits and lists a run's batch files, and reads the logs of jobs."""

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
    """Return the problems of `files`; with `partition`, also of the number of nodes.

    The file's name identifies the stage. The settings of a file without a stage are not checked.
    """
    return [problem.under(str(file)) for file in files for problem in _check(file, partition)]


def _check(file: Path, partition: TrainingPartition | None) -> list[Problem]:
    if file.exists() and not (file.is_file() or file.is_dir()):  # A pipe or a device may never end.
        message = "the batch file is not a regular file"
        return [Problem(code=Code.BATCH_FILE, message=message, remedy="name a batch file, e.g. train.sbatch")]
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or "") if isinstance(error, OSError) else "it is not UTF-8"
        message = f"the file cannot be read: {reason.lower()}"
        return [Problem(code=Code.BATCH_FILE, message=message, remedy="name a batch file, e.g. train.sbatch")]
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
        message="unknown run" if name else "RUN is required: the fleet file has several runs",
        value=name,
        allowed=names,
        remedy=did_you_mean(
            name or "", runs, otherwise="name one of these" if runs else "add the run under `jobs:` in the fleet file"
        ),
        path=("jobs",),
    )
    raise FleetError([problem])


_OF_THE_IMAGE = "#1000"
"""Id of the default user of AWS's AMIs, `ubuntu` or `ec2-user`, in sudo's form."""


def user_of(cluster: NodeSetupModel, requested: str | None) -> str:
    """Return the Unix user that submits: `requested`, else the only one of the cluster's `users:`, else the AMI's.

    Raises `FleetError` (LF892) if the cluster has several users and none is `requested`, or if it lacks that user.
    """
    names = list(cluster.people)
    if requested in names or (requested is not None and not names):
        return requested
    if requested is None and len(names) < 2:
        return names[0] if names else _OF_THE_IMAGE
    refuse(
        Code.JOBS_USER,
        "unknown user" if requested else "--user is required: the cluster has several users",
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
    """Path of its log on the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Stages to submit. `files`: batch files and `run.sh`, by name; `stages`: each runs after the one before."""

    run: str
    run_folder: str
    files: Mapping[str, str]
    stages: Sequence[str]
    id: str
    """Unique id, e.g. `20261120-221500-3f2a`."""

    def send(self, session: Session) -> tuple[Submitted, ...]:
        """Submit through `session`. Raises `FleetError` (LF888 to LF890), then no job remains submitted."""
        done = session.run(self.script())
        if done.code:
            self._refuse(done)
        ids = {words[1]: words[2] for words in map(str.split, done.lines) if words[:1] == ["submitted"]}
        return tuple(
            Submitted(stage=stage, job_id=ids[stage], log=f"{self.run_folder}/logs/{self.run}-{stage}-{ids[stage]}.out")
            for stage in self.stages
        )

    def script(self) -> str:
        """Return the bash script for the node."""
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
            f"the cluster rejected the jobs, and none is submitted: {said or f'exit code {done.code}'}",
            "fix the error that it reports; `sinfo` on the cluster shows partitions and nodes",
            subject=f"run {self.run}",
        )


def _packed(files: Mapping[str, str]) -> str:
    """Return the files as a tar archive in base64; equal files give an equal archive."""
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
"""Seconds between two queries of the job's state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLog:
    """The log of the job `job_id` of a run, else of the newest job of `stage`."""

    run: str
    run_folder: str
    stage: str
    job_id: str | None = None

    def show(self, session: Session, line: Callable[[str], None], *, lines: int) -> None:
        """Call `line` with the last `lines`. Raises `FleetError` (LF888, LF891)."""
        done = session.run(self._script(lines, follow=False))
        self._check(done.code)
        for one in done.lines:
            line(one)

    def follow(self, session: Session, line: Callable[[str], None]) -> None:
        """Call `line` with the whole log until the job has ended, in as many sessions as necessary.

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
                # A session ends after 20 minutes without output, and is sometimes cut off.
                failures += 1
                session.pause(failures, str(error))
                continue
            self._check(code)
            return

    def _script(self, lines: int, *, follow: bool) -> str:
        """Return the bash script for the node. `lines`: number of last lines, or with `follow` the first line."""
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
                f"{what} has no log in {self.run_folder}/logs",
                "wait until it runs (`squeue` on the cluster), or choose another with --stage or --job",
                subject=f"run {self.run}",
            )
        if code:
            refuse(
                Code.JOBS_REFUSED, f"cannot read the log: exit code {code}", "read it on the cluster", subject=self.run
            )


def listing_text(runs: Mapping[str, TrainingRun] | None) -> str:
    """Return the stages, and the runs if there is a fleet file, as text."""
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
    """Return the parallelism of a run, the estimated memory of a process, and remarks."""
    from llm_fleet.rules.inference.fit import in_gib
    from llm_fleet.rules.training.run_spread import breakdown, spread
    from llm_fleet.rules.training.smp_run import smp_remarks_of

    lines, memory = [spread(run.plan)], run.memory
    if memory is not None:
        of = f"{in_gib(memory.total)} of {in_gib(memory.usable)} that a process can use"
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
