"""All that nodes are told beyond who they are: users, buckets, Neuron, steps. One rule for all doors."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.catalog.instances import facts_of
from llm_fleet.rules.neuron import check_neuron_name, check_neuron_release
from llm_fleet.rules.node_protocols import OwnStepLike, S3MountLike, UserLike
from llm_fleet.rules.node_users import check_users
from llm_fleet.rules.own_steps import check_own_steps, check_roles_have_steps, check_skipped_steps
from llm_fleet.rules.people.homes import check_homes
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.s3_mounts import check_s3_mounts
from llm_fleet.rules.terms import NodeType, ParallelClusterHook

NodeOfGroup = tuple[str, NodeType, str]
"""Name, role and hook of a group whose nodes run scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """What nodes are told, and what of their cluster it must go with."""

    users: Sequence[UserLike]
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
