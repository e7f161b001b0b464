"""Files that a fleet file or a construct names: models' configurations, lock files, scripts."""

import json
import stat
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, cast

from llm_fleet.rules.codes import Code
from llm_fleet.rules.downloads_lock import check_lock
from llm_fleet.rules.own_steps import check_own_scripts
from llm_fleet.rules.people import CERTIFICATE, SSSD_PACKAGES
from llm_fleet.rules.problem import Problem, is_unresolved, raise_problems
from llm_fleet.spec.cluster import Downloads, NodeScripts
from llm_fleet.spec.model_shape import ModelShape, TrainedShape, shape_of_config
from llm_fleet.spec.people import Directory

ACCOUNT_FILE = "llm-fleet-facts.json"
"""Name of the file next to the fleet file with the facts of an account, which `account_file` reads."""


def read_regular_file(path: Path, *, most: int = 1024 * 1024, encoding: str = "utf-8") -> str:
    """Return the text of the file at `path`, of `most` bytes or fewer (default: 1 MiB).

    A device or a pipe is rejected before it is opened: reading `/dev/zero` or waiting at a pipe never ends.
    Raises `OSError` and `ValueError`, of which the text is the reason.
    """
    state = path.stat()
    if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):  # Opening a folder gives the best error.
        raise ValueError("it is no regular file")
    if state.st_size > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return path.read_text(encoding=encoding)


def certificate_text(directory: Directory) -> str | None:
    """Return the authority of `directory` in PEM; `None` if the image has it, empty for an unreadable file."""
    if directory.certificate_on_nodes is not None:
        return None
    if not directory.is_placed:
        return CERTIFICATE  # The folder of the fleet file is unknown, so the file cannot be checked.
    try:
        return read_regular_file(directory.path_of(directory.certificate), encoding="ascii")
    except (OSError, ValueError):
        return ""


def read_shape(path: Path) -> tuple[ModelShape | None, list[Problem]]:
    """Return the size in the `config.json` at `path`, or the problems of the file."""
    document, problems = _document(path)
    return (None, problems) if document is None else shape_of_config(document)


def shape_from_config(path: Path | str) -> ModelShape:
    """Return the shape in the `config.json` at `path`, which transformers saves with a model.

    Raises `FleetError` (LF718) when it cannot be read, or is of a model whose weights cannot be counted: the message
    names it, and the numbers can be set instead.
    """
    shape, problems = read_shape(Path(path))
    raise_problems(problems, subject=str(path))
    assert shape is not None  # A file that has no problems has numbers.
    return shape


def read_trained_shape(path: Path) -> tuple[TrainedShape | None, list[Problem]]:
    """Return the size of a model that is trained, from its `config.json` at `path`, or the problems of the file."""
    # Imported here: code that reads only scripts and locks does not need the rules of training.
    from llm_fleet.rules.training.run import trained_shape_of_config

    document, problems = _document(path)
    return (None, problems) if document is None else trained_shape_of_config(document)


def _document(path: Path) -> tuple[dict[str, Any] | None, list[Problem]]:
    try:
        return _read_hugging_face_config(path), []
    except (OSError, ValueError, RecursionError) as error:
        return None, [_unreadable(path, getattr(error, "strerror", None) or str(error))]


def _read_hugging_face_config(path: Path) -> dict[str, Any]:
    document: object = json.loads(read_regular_file(path))
    if not isinstance(document, dict):
        raise ValueError("it holds no JSON object")
    return cast("dict[str, Any]", document)


def _unreadable(path: Path, reason: str) -> Problem:
    return Problem(
        code=Code.MODEL_CONFIG,
        message=f"the model's config.json cannot be read: {reason}",
        remedy="set the path of the file next to the model's weights, on this machine",
        value=str(path),
    )


_SIZE_LIMIT = 8 * 1024 * 1024
"""Bytes; room for twenty thousand files."""


def lock_problems(path: Path) -> list[Problem]:
    """Return the problems of the lock file at `path`."""
    if is_unresolved(path):
        return []
    try:
        document = _read_lock_file(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return [
            Problem(
                code=Code.DOWNLOADS_LOCK,
                message=f"the lock file of downloads cannot be read: {reason}",
                remedy="give the path of a file that `llm-fleet mirror lock` wrote",
                value=str(path),
            )
        ]
    return check_lock(document)


def locked_files(path: Path) -> list[dict[str, Any]]:
    """Return the files of the lock file at `path`, in which `lock_problems` has found no problem."""
    return list(_read_lock_file(path)["files"])


def files_of(downloads: Downloads | None) -> list[dict[str, Any]] | None:
    """Return the files of the lock of `downloads`; none without one, and `None` for an invalid one."""
    if downloads is None:
        return []
    if is_unresolved(downloads):
        return None
    return None if lock_problems(downloads.lock_path) else locked_files(downloads.lock_path)


def pinned_names(downloads: Downloads | None) -> Sequence[str] | None:
    """Return the names of the packages that nodes may download; `None` if they download nothing."""
    files = files_of(downloads)
    if downloads is None:
        return None
    # A lock file that cannot be read is reported where it is set.
    return SSSD_PACKAGES if files is None else [str(file["name"]) for file in files]


def _read_lock_file(path: Path) -> Any:
    return json.loads(read_regular_file(path, most=_SIZE_LIMIT))


def check_own_folder(scripts: NodeScripts, *, start: str) -> list[Problem]:
    """Return the problems of the scripts of custom steps; `start`: a description of the folder that relative paths
    refer to."""
    own = scripts.own
    if own is None:
        return []
    if not own.folder_path.is_dir():
        remedy = f"give the path of a folder, beginning where {start}"
        return [own.wrong("folder", Code.STEP_SCRIPT, "there is no such folder", remedy).under("own")]
    return check_own_scripts(scripts, _own_scripts(own.folder_path, {step.script for step in own.steps}))


def _own_scripts(folder: Path, named: Collection[str]) -> dict[str, bytes]:
    """Return the files below `folder` by their paths in it, with the contents of those that are `named`.

    Of the others only the names are needed, to suggest one for a misspelled name. Hidden files are not part of the
    bundle.
    """
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in name.split("/")):
            found[name] = path.read_bytes() if name in named else b""
    return found
