"""What nodes are set up with: buckets, the Neuron SDK, and whether it reaches any node. One rule for all doors."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from llm_fleet.catalog.hyperpod import facts_of
from llm_fleet.catalog.neuron import NeuronRelease, neuron_releases, parts
from llm_fleet.rules.buckets import check_key_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.group_place import check_mount_path, paths_overlap
from llm_fleet.rules.node_users import OwnStepLike, S3MountLike, check_homes, check_not_bare, check_users
from llm_fleet.rules.own_steps import check_own_steps, check_roles_have_steps, check_skipped_steps
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import NodeType, ParallelClusterHook
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import did_you_mean
from llm_fleet.spec.people import ClusterUser


def check_neuron_release(name: str, families: Collection[str]) -> list[Problem]:
    """Check that the release `name` exists and is made for the instance `families` of the cluster's groups.

    `families` holds those with Neuron devices, e.g. `trn1`; empty when the cluster has none.
    """
    problems = check_neuron_name(name)
    if problems or is_unresolved(name):
        return problems
    if not families:
        return [
            Problem(
                code=Code.NEURON_WITHOUT_DEVICES,
                message="no group of this cluster has instances with Neuron devices",
                remedy="leave the Neuron release out, or use instances such as ml.trn1.32xlarge",
                path=("release",),
                value=name,
            )
        ]
    release = neuron_releases()[name]
    return [_misfit(release, family) for family in sorted(set(families)) if family not in release.families]


def check_neuron_name(name: str) -> list[Problem]:
    """Check that there is a release called `name`."""
    return [] if is_unresolved(name) or name in neuron_releases() else [_unknown(name)]


def _unknown(name: str) -> Problem:
    return Problem(
        code=Code.NEURON_RELEASE_UNKNOWN,
        message="there is no such Neuron release in the catalog",
        remedy=_offer(name),
        path=("release",),
        value=name,
        allowed=", ".join(neuron_releases()),
    )


def _offer(name: str) -> str:
    """Offer the last repair of the minor release named, e.g. 2.28.1 for 2.28, else what is spelt most alike."""
    try:
        minor = parts(name.strip().removeprefix("v"))[:2]
    except ValueError:
        minor = ()
    same = [each.name for each in neuron_releases().values() if parts(each.name)[:2] == minor]
    if same:
        return f"write {same[0]!r}"
    return did_you_mean(name, neuron_releases(), otherwise="write one of the allowed")


def _misfit(release: NeuronRelease, family: str) -> Problem:
    fitting = [each.name for each in neuron_releases().values() if family in each.families]
    return Problem(
        code=Code.NEURON_RELEASE_FAMILY,
        message=f"Neuron {release.name} is not made for {family}",
        remedy=f"take {_nearest_release(release.name, fitting)!r}" if fitting else f"leave {family} out",
        path=("release",),
        value=release.name,
        allowed=", ".join(fitting),
    )


def _nearest_release(name: str, fitting: list[str]) -> str:
    """Return the oldest of `fitting` that is newer than `name`, else the newest: forward is safer than back."""
    newer = [each for each in fitting if parts(each) > parts(name)]
    return min(newer, key=parts) if newer else max(fitting, key=parts)


def check_s3_mounts(
    mounts: Sequence[S3MountLike], *, taken_paths: Sequence[str], group_names: Sequence[str]
) -> list[Problem]:
    """Return what is wrong with `mounts`, each under its index.

    `taken_paths`: where file systems are mounted. `group_names`: all instance groups of the cluster.
    """
    problems: list[Problem] = []
    for index, mount in enumerate(mounts):
        earlier = [*taken_paths, *(other.mount_path for other in mounts[:index])]
        found = [
            *_path(mount.mount_path, earlier),
            *check_key_prefix(mount.prefix, Code.S3_MOUNT),
            *_groups(mount.groups, group_names),
        ]
        problems += [problem.under(index) for problem in found]
    return problems


def _path(path: str, earlier: Sequence[str]) -> Iterator[Problem]:
    found = check_mount_path(path)
    yield from found
    if found or is_unresolved(path):
        return
    other = next((other for other in earlier if not is_unresolved(other) and paths_overlap(path, other)), None)
    if other is not None:
        yield Problem(
            code=Code.S3_MOUNT_PATH,
            message=f"{path} and {other} overlap: one mount would hide the other",
            remedy="mount them side by side, e.g. below /s3",
            path=("mount_path",),
            value=path,
        )


def _groups(groups: Sequence[str] | None, known: Sequence[str]) -> Iterator[Problem]:
    bare = check_not_bare(groups, Code.S3_MOUNT, "groups")
    yield from bare
    if groups is None or bare:
        return
    if not groups:
        yield Problem(
            code=Code.S3_MOUNT,
            message="no group mounts it",
            remedy="name the groups that do, or leave `groups` out for all",
            path=("groups",),
            value=list(groups),
            allowed=", ".join(known),
        )
    for index, name in enumerate(groups):
        if name not in known and not is_unresolved(name):
            yield Problem(
                code=Code.S3_MOUNT,
                message=f"the cluster has no group {name!r}",
                remedy=did_you_mean(name, known, otherwise="name one of its groups, or leave `groups` out for all"),
                path=("groups", index),
                value=name,
                allowed=", ".join(known),
            )


NodeOfGroup = tuple[str, NodeType, str]
"""Name, role and hook of a group whose nodes run scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """What nodes are told, and what of their cluster it must go with."""

    users: Sequence[ClusterUser]
    s3_mounts: Sequence[S3MountLike]
    neuron_release: str | None
    skip_steps: Sequence[str]
    own_steps: Sequence[OwnStepLike]
    group_names: Sequence[str]
    """All instance groups."""
    instance_types: Sequence[str]
    """Of all groups."""
    mount_paths: Sequence[str]
    """Where file systems are mounted."""
    nodes: Sequence[NodeOfGroup]
    """The groups that run scripts."""


def check_node_settings(settings: NodeSettings) -> list[Problem]:
    """Return everything that is wrong with `settings`, by their attributes and indices."""
    s3_mounts = check_s3_mounts(settings.s3_mounts, taken_paths=settings.mount_paths, group_names=settings.group_names)
    without_steps = check_roles_have_steps(settings.skip_steps, settings.own_steps, nodes=settings.nodes)
    return [
        *(problem.under("users") for problem in check_users(settings.users)),
        *(problem.under("users") for problem in _homes(settings)),
        *(problem.under("s3_mounts") for problem in s3_mounts),
        *(problem.under("neuron") for problem in _neuron(settings)),
        *(problem.under("skip_steps") for problem in [*check_skipped_steps(settings.skip_steps), *without_steps]),
        *(problem.under("own_steps") for problem in check_own_steps(settings.own_steps)),
    ]


def _homes(settings: NodeSettings) -> list[Problem]:
    # ParallelCluster shares the head node's /home with all others.
    on_parallelcluster = any(hook == ParallelClusterHook.ON_NODE_CONFIGURED for _, _, hook in settings.nodes)
    return check_homes(settings.users, shared_paths=settings.mount_paths, home_is_shared=on_parallelcluster)


def _neuron(settings: NodeSettings) -> list[Problem]:
    if settings.neuron_release is None:
        return []
    facts = {name: facts_of(name) or facts_of(f"ml.{name}") for name in settings.instance_types}
    families = {
        name.removeprefix("ml.").split(".")[0]
        for name, known in facts.items()
        if known is not None and known.accelerator == "neuron"
    }
    if not families and None in facts.values():
        # A type that nobody knows may have Neuron devices, or be misspelt, which is told elsewhere.
        return check_neuron_name(settings.neuron_release)
    return check_neuron_release(settings.neuron_release, families)


def check_nodes_told(
    given: Mapping[tuple[PathPart, ...], bool],
    *,
    any_script: bool,
    scripts_lie_in_s3: bool,
    own_folder: bool,
    steps: Sequence[tuple[PathPart, ...]],
) -> list[Problem]:
    """Return what is given and no node would be told of.

    `given`: by its path, whether the user has given it; `steps` are the paths that change llm-fleet's own steps.
    `any_script`: whether any node runs a script at all. `scripts_lie_in_s3`: nothing is uploaded, no manifest either.
    `own_folder`: the user's scripts are uploaded in place of llm-fleet's.
    """
    if not any_script:
        why, remedy = "no node runs a script, which would read it", "let nodes run the lifecycle scripts, or remove it"
    elif scripts_lie_in_s3:
        why = "the scripts lie in S3 already, so nothing is written beside them for nodes to read"
        remedy = "remove it, or let the scripts be uploaded"
    else:
        why, remedy = "", ""
    problems = [_problem(path, why, remedy) for path, is_given in given.items() if is_given and why]
    if why or not own_folder:
        return problems
    return [
        _problem(
            path,
            "the scripts are your own, and llm-fleet knows the steps of its own ones only",
            "remove it, or leave the folder out and have llm-fleet's scripts run with own steps among theirs",
        )
        for path in steps
        if given.get(path)
    ]


def _problem(path: tuple[PathPart, ...], why: str, remedy: str) -> Problem:
    return Problem(code=Code.NODES_NOT_TOLD, message=f"no node is told of this: {why}", remedy=remedy, path=path)
