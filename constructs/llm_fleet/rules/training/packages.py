"""The packages of a training environment, and whether the lock file has them."""

import re
from collections.abc import Iterator, Sequence

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.locked import Found, Wanted, find
from llm_fleet.rules.training.place import TrainingPlace
from llm_fleet.rules.training.planned import PACKAGE, PlannedEnvironment
from llm_fleet.rules.training.terms import EnvironmentKind
from llm_fleet.rules.training.wheel_name import fits_python

_PYTHON = re.compile(r"3\.(?:[89]|[1-9][0-9])")
_PROGRAM = re.compile(r"/?[A-Za-z0-9._+-]+(?:/[A-Za-z0-9._+-]+)*")
_SHOWN = 8
_INSTALLED = (EnvironmentKind.NEURON, EnvironmentKind.WHEELS, EnvironmentKind.CONDA)


def check_packages(environment: PlannedEnvironment) -> Iterator[Problem]:
    """Return what is wrong with what is asked for, whatever the lock file has."""
    given = environment.given
    for index, text in enumerate(given.packages):
        if not is_unresolved(text) and not PACKAGE.fullmatch(text.strip()):
            yield Problem(
                code=Code.TRAINING_PACKAGE,
                message="this names no package of one version",
                remedy="write `name`, or `name==version`: which version it is, the lock file says",
                path=("packages", index),
                value=text,
            )
    if not given.packages and environment.kind in (EnvironmentKind.WHEELS, EnvironmentKind.CONDA):
        yield Problem(
            code=Code.TRAINING_PACKAGE,
            message="nothing would be in this environment",
            remedy="name its packages",
            path=("packages",),
        )
    if environment.kind is EnvironmentKind.WHEELS and not _PYTHON.fullmatch(given.python or ""):
        yield Problem(
            code=Code.TRAINING_PYTHON,
            message="this is no version of Python that an environment can be made with",
            remedy="write it with one dot and in quotes, e.g. '3.11'",
            path=("python",),
            value=given.python,
        )
    if environment.kind is EnvironmentKind.CONDA and not _PROGRAM.fullmatch(given.program or ""):
        yield Problem(
            code=Code.TRAINING_CONDA,
            message="nobody says which program of the nodes makes this environment",
            remedy="write its name or path, e.g. /opt/conda/bin/conda",
            path=("program",),
            value=given.program or None,
        )


def check_locked(environment: PlannedEnvironment, place: TrainingPlace) -> list[Problem]:
    """Return what of an environment, which is otherwise right, the nodes could not fetch."""
    if environment.kind not in _INSTALLED or not environment.wanted or not environment.groups or place.files is None:
        return []
    if place.source == "none":
        return [_no_downloads(environment)]
    found = find(environment.wanted, place.files, kind=environment.archive_kind)
    if found.missing:
        return [_missing(environment, found, place)]
    return [*_ambiguous(found), *_other_python(environment, found)]


def lock_command(environment: PlannedEnvironment) -> str:
    """Return the command that pins the packages of `environment`."""
    if environment.kind is EnvironmentKind.CONDA:
        return "llm-fleet mirror lock --system SYSTEM --file NAME VERSION URL SHA256 …"
    start = f"llm-fleet mirror lock --system SYSTEM --python {environment.python}"
    if environment.kind is EnvironmentKind.NEURON:
        start += f" --environment {environment.stack} --neuron {environment.release}"
    return f"{start} --requirements FILE" if environment.given.packages else start


def _no_downloads(environment: PlannedEnvironment) -> Problem:
    return Problem(
        code=Code.TRAINING_NO_DOWNLOADS,
        message="nodes are to install this environment, and fetch nothing",
        remedy=f"pin it with `{lock_command(environment)}`, and give the lock file as `downloads`",
        path=("packages",) if environment.given.packages else (),
        value=_shown(environment.wanted),
    )


def _missing(environment: PlannedEnvironment, found: Found, place: TrainingPlace) -> Problem:
    kind = environment.archive_kind
    none = not any(file["kind"] == kind for file in place.files or ())
    what = f"the lock file has no {kind}s" if none else f"the lock file has no {kind} of {_shown(found.missing)}"
    return Problem(
        code=Code.TRAINING_NOT_LOCKED,
        message=f"nodes are to install this environment, and {what}",
        remedy=f"make it anew with `{lock_command(environment)}`, and --keep what it has",
        path=("packages",) if environment.given.packages else (),
        value=_shown(environment.wanted),
    )


def _ambiguous(found: Found) -> Iterator[Problem]:
    for name, versions in found.ambiguous.items():
        yield Problem(
            code=Code.TRAINING_LOCK_AMBIGUOUS,
            message=f"the lock file has {name} in several versions, and nothing says which is meant",
            remedy=f"add {name}=={versions[0]} to `packages`, or take the others out of the lock file",
            path=("packages",),
            allowed=", ".join(versions),
        )


def _other_python(environment: PlannedEnvironment, found: Found) -> Iterator[Problem]:
    python = environment.python
    if python is None or environment.kind is EnvironmentKind.CONDA:
        return
    other = [
        Wanted(name=file["name"], version=file["version"]) for file in found.files if not fits_python(file, python)
    ]
    if other:
        yield Problem(
            code=Code.TRAINING_LOCK_PYTHON,
            message=f"the lock file's wheels of {_shown(other)} are not for Python {python}",
            remedy=f"make it anew with `{lock_command(environment)}`, or write the Python that they are for",
            path=("python",),
            value=python,
        )


def _shown(wanted: Sequence[Wanted]) -> str:
    names = [str(each) for each in wanted]
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
