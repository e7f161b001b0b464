"""Where a training runtime lies."""

import re
from posixpath import normpath

from llm_fleet.catalog.training_environments import usual_folder
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.place import SharedFolder, TrainingPlace
from llm_fleet.rules.training.protocols import RuntimeLike

_BARE = re.compile(r"[^A-Za-z0-9._/+-]")
"""What no folder of ours has: it is written into scripts, units and configurations."""


def shared_by_all(place: TrainingPlace) -> list[SharedFolder]:
    """Return the file systems that the nodes of all compute groups mount, Lustre first."""
    groups = place.compute_groups
    found = [
        each for each in place.shared if all(group.mounts is None or each.path in group.mounts for group in groups)
    ]
    return sorted(found, key=lambda each: each.kind != "lustre")


def folder_of(runtime: RuntimeLike, place: TrainingPlace) -> str | None:
    """Return the folder as told, else the usual one; `None` where no file system is shared by all."""
    if runtime.folder is not None:
        return runtime.folder if is_unresolved(runtime.folder) else normpath(runtime.folder)
    shared = shared_by_all(place)
    return f"{shared[0].path.rstrip('/')}/{usual_folder()}" if shared else None


def check_folder(runtime: RuntimeLike, place: TrainingPlace) -> list[Problem]:
    """Return why the nodes of compute groups do not share the folder."""
    shared = shared_by_all(place)
    folder = runtime.folder
    if folder is None:
        return [] if shared or not place.compute_groups else [_not_shared(place)]
    if is_unresolved(folder):
        return []
    if not folder.startswith("/") or normpath(folder) == "/" or ".." in folder.split("/") or _BARE.search(folder):
        return [_no_folder(folder, shared)]
    if any(_below(folder, each.path) for each in shared):
        return []
    if not shared:
        return [_not_shared(place)]
    return [
        Problem(
            code=Code.TRAINING_FOLDER,
            message="this folder is on no file system that the nodes of all compute groups mount",
            remedy=f"write a folder below {shared[0].path}, or leave it out for {_usual(shared[0])}",
            path=("folder",),
            value=folder,
            allowed=f"a folder below {' or '.join(each.path for each in shared)}",
        )
    ]


def _below(folder: str, path: str) -> bool:
    """The mount itself is not it: it belongs to all."""
    return is_unresolved(path) or normpath(folder).startswith(f"{path.rstrip('/')}/")


def _usual(shared: SharedFolder) -> str:
    return f"{shared.path.rstrip('/')}/{usual_folder()}"


def _no_folder(folder: str, shared: list[SharedFolder]) -> Problem:
    return Problem(
        code=Code.TRAINING_FOLDER,
        message="this is no absolute path of a folder, without spaces and `..`",
        remedy=f"write e.g. {_usual(shared[0]) if shared else '/fsx/llm-fleet'}",
        path=("folder",),
        value=folder,
    )


def _not_shared(place: TrainingPlace) -> Problem:
    some = [each.path for each in place.shared]
    missing = [group.name for group in place.compute_groups if group.mounts is not None and not group.mounts]
    why = f": {', '.join(missing)} mount{'s' if len(missing) == 1 else ''} none" if some and missing else ""
    return Problem(
        code=Code.TRAINING_SHARED,
        message=f"environments and caches lie on storage that all compute nodes share, and there is none{why}",
        remedy="let every compute group mount the Lustre file system"
        if some
        else "give the cluster a Lustre file system, `storage: {fsx: …}` in a fleet file",
        path=("folder",),
    )
