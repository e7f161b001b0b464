"""What must hold of a node manifest before any node reads it, and what the rules ask of one."""

from collections import Counter
from collections.abc import Sequence

from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_setup import check_node_setup
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import LifecycleHook, NodePlatform, ParallelClusterHook
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.cluster import ClusterSpec, NodeGroup, NodeMount
from llm_fleet.spec.node_setup import NodeScripts

_HOOKS: dict[NodePlatform, type[LifecycleHook] | type[ParallelClusterHook]] = {
    NodePlatform.HYPERPOD: LifecycleHook,
    NodePlatform.PARALLELCLUSTER: ParallelClusterHook,
}


def check_manifest(
    cluster: ClusterSpec,
    scripts: NodeScripts,
    *,
    groups: Sequence[NodeGroup],
    mounts: Sequence[NodeMount],
    platform: NodePlatform,
) -> list[Problem]:
    """Return what nodes could not use: groups first, then mounts, then all else that they are told."""
    names = [group.name for group in groups]
    problems = [*_groups(groups, platform), *_platform(groups, platform)]
    for index, mount in enumerate(mounts):
        problems += [problem.under("mounts", index) for problem in [*check_mount(mount), *_mount_groups(mount, names)]]
    return [
        *problems,
        *_shared_paths(mounts),
        *check_node_setup(
            cluster,
            scripts,
            groups=groups,
            mount_paths=[mount.mount_path for mount in mounts],
            home_is_shared=platform is NodePlatform.PARALLELCLUSTER,
        ),
    ]


def _platform(groups: Sequence[NodeGroup], platform: NodePlatform) -> list[Problem]:
    hooks = _HOOKS[platform]
    problems: list[Problem] = []
    for index, group in enumerate(groups):
        if group.hook is not None and not isinstance(group.hook, hooks):
            problems.append(
                Problem(
                    code=Code.MANIFEST_PLATFORM,
                    message=f"{platform.value} never runs {group.hook.value}, so these nodes would stay bare",
                    value=group.hook.value,
                    allowed=", ".join(hooks),
                    path=("groups", index, "hook"),
                    remedy=f"write {next(iter(hooks)).value}, or change the platform",
                )
            )
        for place, name in enumerate(group.instance_types):
            if platform is NodePlatform.HYPERPOD and not is_unresolved(name) and not name.startswith("ml."):
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


def _mount_groups(mount: NodeMount, known: Sequence[str]) -> list[Problem]:
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


def _groups(groups: Sequence[NodeGroup], platform: NodePlatform) -> list[Problem]:
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


def check_mount(mount: NodeMount) -> list[Problem]:
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


def _shared_paths(mounts: Sequence[NodeMount]) -> list[Problem]:
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
