"""Reads batch files that their user edited, and checks each for what it is."""

from collections.abc import Iterable
from pathlib import Path

from llm_fleet.catalog.job_settings import job_stages, shared_settings
from llm_fleet.jobs.batch_file import BatchFile
from llm_fleet.jobs.check_batch_file import check_batch_file, check_nodes
from llm_fleet.jobs.templates import RUN, SUFFIX
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run.partition import TrainingPartition


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
