"""Whether the nodes of clusters can use the EFA of a Lustre file system, and whether it has connections for all."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.catalog.instances import facts_of
from llm_fleet.catalog.lustre import lustre_efa, lustre_efa_interfaces
from llm_fleet.rules.tokens import is_unresolved


@dataclass(frozen=True, slots=True, kw_only=True)
class EfaClients:
    """Like nodes that mount the file system."""

    name: str
    """Of their group or queue, as the user wrote it."""
    instance_types: Sequence[str]
    """With or without `ml.`."""
    nodes: int
    """How many there are at most."""
    efa: bool = True
    """Whether their EFA interfaces are attached, where the type has some."""
    system: str | None = None
    """ParallelCluster's name of their operating system; `None` where nobody knows it before they start."""


def why_efa_is_unused(clients: Sequence[EfaClients]) -> str | None:
    """Return why no node of a cluster can use the file system's EFA; `None` where one can, or nobody knows."""
    most = [_interfaces(group) for group in clients]
    if not clients or any(number is None or number > 0 for number in most):
        return None
    named = ", ".join(f"{group.name} ({' or '.join(group.instance_types)})" for group in clients)
    refused = sorted({group.system for group in clients if group.system is not None and _is_refused(group.system)})
    why = (
        f"It serves {', '.join(refused)} over TCP only; EFA needs one of {', '.join(_systems())}"
        if refused
        else "FSx for Lustre serves trn2 and what is older than Nitro v4 over TCP only"
    )
    return (
        "the Lustre file system has EFA, whose capacity comes in far bigger steps, and no node of the cluster can use "
        f"it: {named}. {why}. Make the file system without (efa: false in the fleet file, efa_enabled=False): FSx "
        "decides it once"
    )


def connections(clients: Sequence[EfaClients]) -> int:
    """Return how many EFA connections the nodes open at most; those of types that nobody knows are not counted."""
    return sum(
        (_interfaces(group) or 0) * group.nodes
        for group in clients
        if not is_unresolved(group.nodes) and group.nodes > 0
    )


def why_too_many_connections(clients: Sequence[EfaClients], *, elsewhere: int) -> str | None:
    """Return what happens when nodes of a cluster open more EFA connections than the file system has; else `None`.

    `elsewhere`: connections that the nodes of the app's other clusters open to it.
    """
    most, opened = lustre_efa().connections, connections(clients)
    if opened + elsewhere <= most:
        return None
    groups = ", ".join(
        f"{group.name} {_interfaces(group)} on each of {group.nodes} nodes" for group in clients if _interfaces(group)
    )
    others = f", besides {elsewhere} of other clusters" if elsewhere else ""
    return (
        f"the cluster opens up to {opened} EFA connections to the Lustre file system{others}, which takes {most}: "
        f"{groups}. Nodes beyond that use TCP and are reported as degraded (LFN52); have fewer nodes at a time mount "
        "it, or give some groups another file system"
    )


def _interfaces(group: EfaClients) -> int | None:
    """Return the most that a node of the group gives to LNet; `None` where that of a type is not known."""
    if not group.efa or (group.system is not None and _is_refused(group.system)):
        return 0
    facts = [None if is_unresolved(name) else facts_of(_called(name)) for name in group.instance_types]
    numbers = [None if one is None else lustre_efa_interfaces(one) for one in facts]
    return None if None in numbers or not numbers else max(number for number in numbers if number is not None)


def _is_refused(system: str) -> bool:
    return system not in _systems()


def _systems() -> list[str]:
    return [name for system in lustre_efa().systems for name in system.parallelcluster]


def _called(name: str) -> str:
    """Return the catalog's name. A type that was made by `InstanceType.of` keeps its own facts."""
    return name if name.startswith("ml.") else f"ml.{name}"
