"""What must hold of a node manifest before any node reads it."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType
from llm_fleet.rules.tokens import is_unresolved


class ManifestGroupLike(Protocol):
    """A group, as its nodes need to know it."""

    @property
    def name(self) -> str:
        """`InstanceGroupName`."""
        ...

    @property
    def role(self) -> NodeType:
        """What its nodes do in Slurm."""
        ...

    @property
    def instance_types(self) -> Sequence[str]:
        """The `ml.` names that it may be made of."""
        ...


class ManifestMountLike(Protocol):
    """A file system, as the nodes need to know it."""

    @property
    def kind(self) -> Literal["lustre", "open_zfs"]:
        """Which of the two file systems it is."""
        ...

    @property
    def mount_path(self) -> str:
        """Absolute path on the node."""
        ...

    @property
    def mount_name(self) -> str | None:
        """Lustre's generated name."""
        ...


class ManifestLike(Protocol):
    """What the nodes are told of their fleet."""

    @property
    def groups(self) -> Sequence[ManifestGroupLike]:
        """All instance groups."""
        ...

    @property
    def mounts(self) -> Sequence[ManifestMountLike]:
        """All file systems."""
        ...


def manifest(given: ManifestLike) -> list[Problem]:
    """Return what is wrong with `given`: groups first, then mounts."""
    problems = _groups(given.groups)
    for index, mount in enumerate(given.mounts):
        problems += [problem.under("mounts", index) for problem in _mount(mount)]
    return problems + _shared_paths(given.mounts)


def _groups(groups: Sequence[ManifestGroupLike]) -> list[Problem]:
    problems: list[Problem] = []
    for name, count in Counter(group.name for group in groups).items():
        if count > 1 and not is_unresolved(name):
            problems.append(
                Problem(
                    code=Code.MANIFEST_GROUP,
                    message=f"{count} groups are called the same, so a node cannot tell which one it is of",
                    value=name,
                    path=("groups",),
                    remedy="give each group a name of its own",
                )
            )
    for index, group in enumerate(groups):
        if not group.instance_types:
            problems.append(
                Problem(
                    code=Code.MANIFEST_GROUP,
                    message=f"group {group.name} has no instance type",
                    path=("groups", index, "instance_types"),
                    remedy="name the ml. type or types that its nodes are made of",
                )
            )
    return problems


def _mount(mount: ManifestMountLike) -> list[Problem]:
    problems: list[Problem] = []
    path = mount.mount_path
    if not is_unresolved(path) and (not path.startswith("/") or path.rstrip("/") == "" or ".." in path.split("/")):
        problems.append(
            Problem(
                code=Code.MANIFEST_MOUNT,
                message="a file system must be mounted on an absolute path below the root, without `..`",
                value=path,
                path=("mount_path",),
                remedy="write a path like /fsx or /home",
            )
        )
    if (mount.kind == "lustre") != (mount.mount_name is not None):
        problems.append(
            Problem(
                code=Code.MANIFEST_MOUNT,
                message="Lustre is mounted by its generated mount name, OpenZFS has none",
                value=mount.mount_name,
                path=("mount_name",),
                remedy="take the mount name from the Lustre file system, leave it out for OpenZFS",
            )
        )
    return problems


def _shared_paths(mounts: Sequence[ManifestMountLike]) -> list[Problem]:
    paths = Counter(mount.mount_path.rstrip("/") for mount in mounts if not is_unresolved(mount.mount_path))
    return [
        Problem(
            code=Code.MANIFEST_MOUNT,
            message=f"{count} file systems are mounted on one path, so one hides the other",
            value=path,
            path=("mounts",),
            remedy="give each file system a mount path of its own",
        )
        for path, count in paths.items()
        if count > 1
    ]
