"""What must hold of a node manifest before any node reads it, and what the rules ask of one."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, Protocol

from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_setup import NodeSettings, check_node_settings
from llm_fleet.rules.node_users import OwnStepLike, S3MountLike
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import LifecycleHook, NodePlatform, NodeType, ParallelClusterHook
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.people import ClusterUser


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
        """The names of instance types that it may be made of."""
        ...

    @property
    def hook(self) -> LifecycleHook | ParallelClusterHook | None:
        """When its nodes run the bundle; `None` for never."""
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

    @property
    def groups(self) -> Sequence[str] | None:
        """Names of the groups that mount it; `None` for all."""
        ...


class ManifestNeuronLike(Protocol):
    """The Neuron SDK of the hosts."""

    @property
    def release(self) -> str:
        """E.g. `2.28.1`."""
        ...


class ManifestLike(Protocol):
    """What the nodes are told of their fleet."""

    @property
    def groups(self) -> Sequence[ManifestGroupLike]:
        """All instance groups."""
        ...

    @property
    def platform(self) -> NodePlatform:
        """Who starts the nodes."""
        ...

    @property
    def mounts(self) -> Sequence[ManifestMountLike]:
        """All file systems."""
        ...

    @property
    def s3_mounts(self) -> Sequence[S3MountLike]:
        """Buckets shown as folders."""
        ...

    @property
    def users(self) -> Sequence[ClusterUser]:
        """Users of the nodes."""
        ...

    @property
    def neuron(self) -> ManifestNeuronLike | None:
        """The Neuron SDK of the hosts, where it is said."""
        ...

    @property
    def skip_steps(self) -> Sequence[str]:
        """Steps that no node takes."""
        ...

    @property
    def own_steps(self) -> Sequence[OwnStepLike]:
        """Steps of the user's own."""
        ...


_HOOKS: dict[NodePlatform, type[LifecycleHook] | type[ParallelClusterHook]] = {
    NodePlatform.HYPERPOD: LifecycleHook,
    NodePlatform.PARALLELCLUSTER: ParallelClusterHook,
}


def manifest(given: ManifestLike) -> list[Problem]:
    """Return what is wrong with `given`: groups first, then mounts, then all else that nodes are told."""
    names = [group.name for group in given.groups]
    problems = _groups(given.groups, given.platform) + _platform(given)
    for index, mount in enumerate(given.mounts):
        problems += [problem.under("mounts", index) for problem in [*check_mount(mount), *_mount_groups(mount, names)]]
    return problems + _shared_paths(given.mounts) + check_node_settings(_settings(given))


def _settings(given: ManifestLike) -> NodeSettings:
    return NodeSettings(
        users=given.users,
        s3_mounts=given.s3_mounts,
        neuron_release=given.neuron.release if given.neuron is not None else None,
        skip_steps=given.skip_steps,
        own_steps=given.own_steps,
        group_names=[group.name for group in given.groups],
        instance_types=[name for group in given.groups for name in group.instance_types],
        mount_paths=[mount.mount_path for mount in given.mounts],
        nodes=[(group.name, group.role, group.hook) for group in given.groups if group.hook is not None],
    )


def _platform(given: ManifestLike) -> list[Problem]:
    hooks = _HOOKS[given.platform]
    problems: list[Problem] = []
    for index, group in enumerate(given.groups):
        if group.hook is not None and not isinstance(group.hook, hooks):
            problems.append(
                Problem(
                    code=Code.MANIFEST_PLATFORM,
                    message=f"{given.platform.value} never runs {group.hook.value}, so these nodes would stay bare",
                    value=group.hook.value,
                    allowed=", ".join(hooks),
                    path=("groups", index, "hook"),
                    remedy=f"write {next(iter(hooks)).value}, or change the platform",
                )
            )
        for place, name in enumerate(group.instance_types):
            if given.platform is NodePlatform.HYPERPOD and not is_unresolved(name) and not name.startswith("ml."):
                problems.append(
                    Problem(
                        code=Code.MANIFEST_PLATFORM,
                        message="HyperPod's instance types begin with ml., and its nodes are compared with them",
                        value=name,
                        path=("groups", index, "instance_types", place),
                        remedy=f"write 'ml.{name}'",
                    )
                )
    return problems


def _mount_groups(mount: ManifestMountLike, known: Sequence[str]) -> list[Problem]:
    return [
        Problem(
            code=Code.MANIFEST_MOUNT,
            message=f"there is no group {name!r} to mount it",
            value=name,
            allowed=", ".join(known),
            path=("groups", index),
            remedy=did_you_mean(name, known, otherwise="name one of the groups, or leave them out for all"),
        )
        for index, name in enumerate(mount.groups or ())
        if name not in known
    ]


def _groups(groups: Sequence[ManifestGroupLike], platform: NodePlatform) -> list[Problem]:
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
        # A queue of ParallelCluster may have the type of its capacity reservation, which nobody here knows.
        if not group.instance_types and platform is NodePlatform.HYPERPOD:
            problems.append(
                Problem(
                    code=Code.MANIFEST_GROUP,
                    message=f"group {group.name} has no instance type",
                    path=("groups", index, "instance_types"),
                    remedy="name the ml. type or types that its nodes are made of",
                )
            )
    return problems


def check_mount(mount: ManifestMountLike) -> list[Problem]:
    """Return what is wrong with one file system, whatever else is mounted."""
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
