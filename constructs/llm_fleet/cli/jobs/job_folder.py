"""The folder of a job: who submits it, which run it is of, and what was edited in it."""

import shlex
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from llm_fleet.catalog.job_settings import job_stages, shared_settings
from llm_fleet.cli.atomic_write import write_file
from llm_fleet.cli.failures import refuse
from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.jobs.batch_file import RUN, SUFFIX, BatchFile
from llm_fleet.jobs.check_batch_file import check_batch_file, check_nodes
from llm_fleet.jobs.training_run import TrainingRun
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, Problem
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.jobs import TrainingPartition

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


def write_folder(folder: Path, files: Mapping[str, str], *, force: bool) -> None:
    """Write `files` (text by name) into `folder`, which is made; raise `FleetError` (LF160, LF161) when it cannot be.

    A folder with something in it is left alone, but with `force`: then the files take the place of those of the same
    names, one by one, and others stay.
    """
    try:
        scratch = Path(tempfile.mkdtemp(dir=_parent(folder), prefix=".llm-fleet-"))
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        for name, text in files.items():
            write_file(scratch / name, text, force=False)
        _put(scratch, folder, files, force=force)
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _parent(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder.parent


def _put(scratch: Path, folder: Path, files: Mapping[str, str], *, force: bool) -> None:
    occupied = folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir())))
    if occupied and not force:
        message = "there is something of this name already"
        problem = Problem(code=Code.OUTPUT_EXISTS, message=message, remedy="name another folder, or add --force")
        raise FleetError([problem], subject=str(folder))
    if occupied:
        for name, text in files.items():
            write_file(folder / name, text, force=True)
        return
    scratch.chmod(0o755)
    scratch.rename(folder)  # Takes the place of an empty folder, too, and of nothing else.


def _unwritable(folder: Path, error: OSError) -> FleetError:
    reason = (error.strerror or type(error).__name__).lower()
    message = f"the folder cannot be written: {reason}"
    problem = Problem(code=Code.OUTPUT_UNWRITABLE, message=message, remedy="name another place")
    return FleetError([problem], subject=str(folder))


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


def user_of(cluster: NodeSetupModel, asked: str | None) -> str:
    """Return whom to submit as: whoever is `asked` for, else the one of the cluster's `users:`, else the image's.

    Raises `FleetError` (LF892) when it has several and nobody said which, or none of that name.
    """
    names = list(cluster.people)
    if asked in names or (asked is not None and not names):
        return asked
    if asked is None and len(names) < 2:
        return names[0] if names else _OF_THE_IMAGE
    refuse(
        Code.JOBS_USER,
        "the cluster has no such user" if asked else "nobody told which of the cluster's users the jobs belong to",
        did_you_mean(asked or "", names, otherwise=f"name one with --user: {', '.join(names)}"),
        value=asked,
        subject=f"cluster {cluster.cluster_name}",
    )
