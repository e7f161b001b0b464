"""The folder with the training script, in the form that the containers' toolkit (script mode) runs it."""

from collections.abc import Iterator
from posixpath import isabs, normpath

from llm_fleet.catalog.training_job import launchers
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.spec.training_job import TrainingJobSpec
from llm_fleet.spec.training_job_code import SourceBundle, TrainingImageKind

REQUIREMENTS = "requirements.txt"
"""What the toolkit installs by pip before the script starts."""
_PACKAGE = "setup.py"
_CODE = SageMakerCode.TRAINING_SOURCE


def check_source(job: TrainingJobSpec) -> list[Problem]:
    """Return why the container cannot run the script, below `source`."""
    source = job.source
    if source is None:
        return list(_needed(job))
    found = [*_folder(source), *(list(_entry_point(source)) or _launched(job, source))]
    return [problem.under("source") for problem in found]


def _folder(source: SourceBundle) -> Iterator[Problem]:
    if source.place is not None and not source.files:
        yield Problem(
            code=_CODE,
            message="there is no such folder" if source.files is None else "there is nothing in this folder",
            remedy="write the folder that holds the training script",
            path=("folder",),
            value=str(source.place),
        )


def check_requirements(
    job: TrainingJobSpec, *, closed: bool, index_variables: tuple[str, ...] = ("PIP_INDEX_URL", "PIP_FIND_LINKS")
) -> list[Problem]:
    """Return why pip cannot fetch what the folder asks for: the container reaches no index. `closed`: its network."""
    source = job.source
    if source is None or source.files is None or REQUIREMENTS not in source.files:
        return []
    if not job.network_isolation and (not closed or any(name in job.environment for name in index_variables)):
        return []
    where = "an isolated container" if job.network_isolation else "a network without a way to the internet"
    return [
        Problem(
            code=_CODE,
            message=f"{REQUIREMENTS} is installed by pip when the script starts, and pip reaches nothing from {where}",
            remedy="take an image that has these packages, or remove the file"
            if job.network_isolation
            else "take an image that has these packages, or tell pip of an index inside by the variable PIP_INDEX_URL",
            path=("source",),
        )
    ]


def _needed(job: TrainingJobSpec) -> Iterator[Problem]:
    if job.image.kind is not TrainingImageKind.OWN:
        yield Problem(
            code=_CODE,
            message="AWS's images have no training script: they run the one that they are given",
            remedy="tell the folder with the script and the script in it",
            path=("source",),
        )
    elif launchers()[job.distribution.kind.value].hyperparameters:
        yield Problem(
            code=_CODE,
            message=f"{launchers()[job.distribution.kind.value].title} starts a script, and none is told",
            remedy="tell the folder with the script, or leave the distribution out",
            path=("source",),
        )


def _entry_point(source: SourceBundle) -> Iterator[Problem]:
    name = source.entry_point
    if not name or isabs(name) or normpath(name).startswith(".."):
        yield _problem(
            "the script lies in the folder, and its path begins there" if name else "this is no script's name",
            "write it from the folder, e.g. train.py",
            name,
        )
    elif source.files and normpath(name) not in source.files:
        scripts = sorted(each for each in source.files if each.endswith((".py", ".sh")))
        yield _problem(
            f"there is no {name} in the folder",
            did_you_mean(name, scripts, otherwise=f"write {scripts[0]!r}" if scripts else "put the script there"),
            name,
            ", ".join(scripts[:10]),
        )


def _launched(job: TrainingJobSpec, source: SourceBundle) -> Iterator[Problem]:
    launcher = launchers()[job.distribution.kind.value]
    if not launcher.python_script:
        return
    if not source.entry_point.endswith(".py"):
        yield _problem(
            f"{launcher.title} starts Python scripts only", "name a script that ends in .py", source.entry_point
        )
    elif source.files is not None and _PACKAGE in source.files:
        yield _problem(
            f"a folder with {_PACKAGE} is taken for a package, which {launcher.title} cannot start in a container",
            f"leave {_PACKAGE} out of the folder: the script finds the modules beside it without",
            source.entry_point,
        )


def _problem(message: str, remedy: str, value: str, allowed: str = "") -> Problem:
    return Problem(code=_CODE, message=message, remedy=remedy, path=("entry_point",), value=value, allowed=allowed)
