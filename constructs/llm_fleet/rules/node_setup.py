"""Rules of the configuration of nodes: setup and manifest."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from llm_fleet.catalog.hyperpod import facts_of
from llm_fleet.catalog.neuron import NeuronRelease, neuron_releases, parts
from llm_fleet.rules.buckets import check_bucket_name, check_key_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_place import check_mount_path, paths_overlap
from llm_fleet.rules.node_users import check_homes, check_users
from llm_fleet.rules.own_steps import check_steps
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved
from llm_fleet.rules.terms import LifecycleHook, NodePlatform, ParallelClusterHook
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.cluster import ClusterSpec, LifecycleScripts, NodeGroup, NodeMount, NodeScripts, S3Mount

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
    """Return what is wrong with the manifest: groups, then mounts, then the other settings of nodes."""
    names = [group.name for group in groups]
    problems = [*_manifest_groups(groups, platform), *_platform(groups, platform)]
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
                    message=f"{platform.value} does not support {group.hook.value}, so these nodes would not be "
                    "configured",
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
                        message="names of HyperPod's instance types must begin with ml.",
                        value=name,
                        path=("groups", index, "instance_types", place),
                        remedy=f"write `ml.{name}`",
                    )
                )
    return problems


def _mount_groups(mount: NodeMount, known: Sequence[str]) -> list[Problem]:
    return [
        Problem(
            code=Code.MANIFEST_MOUNT,
            message=f"the cluster has no group {name!r}",
            value=name,
            allowed=", ".join(known),
            path=("groups", index),
            remedy=did_you_mean(
                name, known, otherwise="write one of the groups, or remove `groups` to mount it on all"
            ),
        )
        for index, name in enumerate(mount.groups or ())
        if name not in known
    ]


def _manifest_groups(groups: Sequence[NodeGroup], platform: NodePlatform) -> list[Problem]:
    problems: list[Problem] = []
    for name, count in Counter(group.name for group in groups).items():
        if count > 1 and not is_unresolved(name):
            problems.append(
                Problem(
                    code=Code.MANIFEST_GROUP,
                    message=f"{count} groups have the same name, so that a node could not find its group",
                    value=name,
                    path=("groups",),
                    remedy="give each group a different name",
                )
            )
    for index, group in enumerate(groups):
        # A queue of ParallelCluster may use the type of its capacity reservation, which is unknown here.
        if not group.instance_types and platform is NodePlatform.HYPERPOD:
            problems.append(
                Problem(
                    code=Code.MANIFEST_GROUP,
                    message=f"group {group.name} has no instance type",
                    path=("groups", index, "instance_types"),
                    remedy="write the ml. instance type or types of its nodes",
                )
            )
    return problems


def check_mount(mount: NodeMount) -> list[Problem]:
    """Return what is wrong with one mount by itself."""
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
                message="a mount name is required for Lustre, and not allowed for OpenZFS",
                value=mount.mount_name,
                path=("mount_name",),
                remedy="write the mount name of the Lustre file system, or remove it for OpenZFS",
            )
        )
    return problems


def _shared_paths(mounts: Sequence[NodeMount]) -> list[Problem]:
    paths = Counter(mount.mount_path.rstrip("/") for mount in mounts if not is_unresolved(mount.mount_path))
    return [
        Problem(
            code=Code.MANIFEST_MOUNT,
            message=f"{count} file systems have the same mount path, so that one would hide the other",
            value=path,
            path=("mounts",),
            remedy="give each file system a different mount path",
        )
        for path, count in paths.items()
        if count > 1
    ]


_S3 = "s3://"


def check_neuron_release(name: str, families: Collection[str]) -> list[Problem]:
    """Check that the release `name` exists and supports the instance `families` of the cluster's groups.

    `families`: those with Neuron devices, e.g. `trn1`; empty when the cluster has none.
    """
    problems = check_neuron_name(name)
    if problems or is_unresolved(name):
        return problems
    if not families:
        return [
            Problem(
                code=Code.NEURON_WITHOUT_DEVICES,
                message="the Neuron release has no effect: no group of this cluster has instances with Neuron devices",
                remedy="remove the Neuron release, or use instances such as ml.trn1.32xlarge",
                path=("release",),
                value=name,
            )
        ]
    release = neuron_releases()[name]
    return [_misfit(release, family) for family in sorted(set(families)) if family not in release.families]


def check_neuron_name(name: str) -> list[Problem]:
    """Return a problem unless the catalog has the Neuron release `name`."""
    return [] if is_unresolved(name) or name in neuron_releases() else [_unknown(name)]


def _unknown(name: str) -> Problem:
    return Problem(
        code=Code.NEURON_RELEASE_UNKNOWN,
        message="unknown Neuron release",
        remedy=_offer(name),
        path=("release",),
        value=name,
        allowed=", ".join(neuron_releases()),
    )


def _offer(name: str) -> str:
    """Return the remedy: the last patch of the minor release, e.g. 2.28.1 for 2.28, or the most similar name."""
    try:
        minor = parts(name.strip().removeprefix("v"))[:2]
    except ValueError:
        minor = ()
    same = [each.name for each in neuron_releases().values() if parts(each.name)[:2] == minor]
    if same:
        return f"write `{same[0]}`"
    return did_you_mean(name, neuron_releases(), otherwise="write one of the allowed releases")


def _misfit(release: NeuronRelease, family: str) -> Problem:
    fitting = [each.name for each in neuron_releases().values() if family in each.families]
    return Problem(
        code=Code.NEURON_RELEASE_FAMILY,
        message=f"Neuron {release.name} does not support {family}",
        remedy=f"write `{_nearest_release(release.name, fitting)}`" if fitting else f"remove {family}",
        path=("release",),
        value=release.name,
        allowed=", ".join(fitting),
    )


def _nearest_release(name: str, fitting: list[str]) -> str:
    """Return the oldest of `fitting` that is newer than `name`, or else the newest: upgrades are safer."""
    newer = [each for each in fitting if parts(each) > parts(name)]
    return min(newer, key=parts) if newer else max(fitting, key=parts)


def check_s3_mounts(
    mounts: Sequence[S3Mount], *, taken_paths: Sequence[str], group_names: Sequence[str]
) -> list[Problem]:
    """Return what is wrong with `mounts`, each under its index.

    `taken_paths`: mount paths of file systems. `group_names`: all instance groups of the cluster.
    """
    problems: list[Problem] = []
    for index, mount in enumerate(mounts):
        earlier = [*taken_paths, *(other.mount_path for other in mounts[:index])]
        found = [
            *check_bucket_address(mount.bucket, "bucket"),
            *_path(mount, earlier),
            *check_key_prefix(mount.prefix, Code.S3_MOUNT),
            *_groups(mount, group_names),
        ]
        problems += [problem.under(index) for problem in found]
    return problems


def check_bucket_address(bucket: object, *path: PathPart) -> Iterator[Problem]:
    """Return a problem at `path` when `bucket` is an S3 URI, but not of a whole bucket; without `s3://` it passes.

    In a fleet file it may be the name of one of the fleet's buckets.
    """
    if isinstance(bucket, str) and bucket.startswith(_S3):
        for problem in check_bucket_name(bucket.removeprefix(_S3).removesuffix("/")):
            remedy = "write `s3://` and the name of a bucket, without a prefix: nodes get access to the whole bucket"
            yield replace(problem, path=path, remedy=remedy)


def _path(mount: S3Mount, earlier: Sequence[str]) -> Iterator[Problem]:
    path = mount.mount_path
    found = check_mount_path(path)
    yield from found
    if found or is_unresolved(path):
        return
    other = next((other for other in earlier if not is_unresolved(other) and paths_overlap(path, other)), None)
    if other is not None:
        yield mount.wrong(
            "mount_path",
            Code.S3_MOUNT_PATH,
            f"the mount paths {path} and {other} overlap, so that one mount would hide the other",
            "write paths next to each other, e.g. below /s3",
        )


def _groups(mount: S3Mount, known: Sequence[str]) -> Iterator[Problem]:
    if mount.groups is None:
        return
    if not mount.groups:
        yield mount.wrong(
            "groups",
            Code.S3_MOUNT,
            "no group mounts this bucket",
            "write the groups that mount it, or remove `groups` to mount it on all",
            allowed=", ".join(known),
        )
    for index, name in enumerate(mount.groups):
        if name not in known and not is_unresolved(name):
            yield mount.wrong(
                ("groups", index),
                Code.S3_MOUNT,
                f"the cluster has no group {name!r}",
                did_you_mean(name, known, otherwise="write one of its groups, or remove `groups` to mount it on all"),
                allowed=", ".join(known),
            )


def check_node_setup(
    cluster: ClusterSpec,
    scripts: NodeScripts,
    *,
    groups: Sequence[NodeGroup],
    mount_paths: Sequence[str],
    home_is_shared: bool,
) -> list[Problem]:
    """Return everything that is wrong with the node settings of `cluster`, without reading files.

    `groups`: all groups of its nodes. `mount_paths`: mount paths of file systems. `home_is_shared`: the platform
    shares /home itself, as ParallelCluster does with that of the head node.
    """
    s3_mounts = check_s3_mounts(
        cluster.s3_mounts, taken_paths=mount_paths, group_names=[group.name for group in groups]
    )
    homes = check_homes(cluster.users, shared_paths=mount_paths, home_is_shared=home_is_shared)
    return [
        *(problem.under("users") for problem in [*check_users(cluster.users), *homes]),
        *(problem.under("s3_mounts") for problem in s3_mounts),
        *(problem.under("neuron") for problem in _neuron(cluster, groups)),
        *(problem.under("scripts") for problem in check_steps(scripts, groups)),
    ]


def _neuron(cluster: ClusterSpec, groups: Sequence[NodeGroup]) -> list[Problem]:
    if cluster.neuron is None:
        return []
    facts = {name: facts_of(name) or facts_of(f"ml.{name}") for group in groups for name in group.instance_types}
    families = {
        name.removeprefix("ml.").split(".")[0]
        for name, known in facts.items()
        if known is not None and known.accelerator == "neuron"
    }
    if not families and None in facts.values():
        # An unknown type may have Neuron devices, or be misspelled, which another rule reports.
        return check_neuron_name(cluster.neuron.release)
    return check_neuron_release(cluster.neuron.release, families)


_READ_BY_SCRIPTS = (
    "users",
    "slurm_accounts",
    "directory",
    "s3_mounts",
    "neuron",
    "training",
    "metrics",
    "downloads",
)


def check_node_settings_used(cluster: ClusterSpec, scripts: NodeScripts, groups: Sequence[NodeGroup]) -> list[Problem]:
    """Return a problem for each setting that has no effect on any node of `groups`."""
    steps = [("scripts", name) for name in ("skip_steps", "own") if getattr(scripts, name)]
    if not any(group.hook for group in groups):
        why, remedy = "no node runs lifecycle scripts", "let nodes run the lifecycle scripts, or remove it"
    elif isinstance(scripts, LifecycleScripts) and scripts.prefix is not None:
        why = "the scripts are already in S3, and llm-fleet writes no settings next to them"
        remedy = "remove it, or let the scripts be uploaded"
    elif scripts.scripts is not None:
        why = "`scripts` replaces llm-fleet's scripts, and with them their steps"
        remedy = "remove it, or remove `scripts` and add your own steps to llm-fleet's scripts"
        return [_unused(path, why, remedy) for path in steps]
    else:
        return []
    given = [(name,) for name in _READ_BY_SCRIPTS if getattr(cluster, name)]
    return [_unused(path, why, remedy) for path in (*given, *steps)]


def _unused(path: tuple[PathPart, ...], why: str, remedy: str) -> Problem:
    return Problem(
        code=Code.NODE_SETTINGS_UNUSED, message=f"this setting has no effect: {why}", remedy=remedy, path=path
    )
