"""Reads the folder of a training script, for fleet file and construct alike."""

from pathlib import Path

from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode

LEFT_OUT = frozenset({"__pycache__", "node_modules", "venv"})
"""Folders that no training script needs, and that change without it; those that begin with a dot are left out too."""


def source_files(folder: Path) -> dict[str, Path]:
    """Return the files of a source bundle below `folder` by their paths in it, in order.

    Hidden ones, compiled Python and virtual environments are none of it. Raises `NotADirectoryError` when there is no
    such folder.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"no folder with a training script at {folder}")
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: found[name] for name in sorted(found) if _is_source(name)}


def read_source(folder: Path) -> tuple[frozenset[str] | None, list[Problem]]:
    """Return the names of the files below `folder`, or why there are none."""
    try:
        files = source_files(folder)
    except OSError:
        return None, [_problem("there is no such folder", folder)]
    if not files:
        return None, [_problem("there is nothing in this folder", folder)]
    return frozenset(files), []


def _is_source(name: str) -> bool:
    return not any(part.startswith(".") or part in LEFT_OUT for part in name.split("/")) and not name.endswith(".pyc")


def _problem(message: str, folder: Path) -> Problem:
    return Problem(
        code=SageMakerCode.TRAINING_SOURCE,
        message=message,
        remedy="write the folder that holds the training script",
        path=("folder",),
        value=str(folder),
    )
