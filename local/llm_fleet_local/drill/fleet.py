"""The fleet of a drill: its first cluster, and what the drill cannot do with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from llm_fleet.catalog.hyperpod import facts_of
from llm_fleet.fleet_file.clusters import AnyCluster, HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.jobs.settings import TrainingRun
from llm_fleet.spec.instance_group import NodeType
from llm_fleet_local.command.project import LocalError
from llm_fleet_local.drill.stand_ins import interpreter
from llm_fleet_local.drill.training.story import run_of

_PACKAGED = Path(__file__).parent / "example"
EXAMPLE = (_PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[3] / "examples") / "hyperpod-drill.yaml"
"""The drill's own fleet file, with a model that trains on CPUs: in the package in a wheel, else in the checkout."""


@dataclass(frozen=True)
class DrillFleet:
    """A fleet whose first cluster the drill can start."""

    file: Path
    fleet: Fleet

    @property
    def key(self) -> str:
        """Key of the cluster in the fleet file."""
        return next(iter(self.fleet.clusters))

    @property
    def cluster_name(self) -> str:
        """Name of the cluster in AWS."""
        return self.fleet.clusters[self.key].cluster_name

    @property
    def stack(self) -> str:
        """Name of the cluster's stack."""
        return f"{self.fleet.name}-{self.key}"

    @property
    def is_hyperpod(self) -> bool:
        """Whether the cluster is a HyperPod cluster, not one of ParallelCluster."""
        return self.key in self.fleet.hyperpod_clusters

    @property
    def needs_interpreter(self) -> bool:
        """Whether its nodes train with this machine's Python."""
        training = self.fleet.clusters[self.key].training
        pythons = [getattr(each, "python", None) for each in training.environments] if training is not None else []
        return interpreter.VERSION in pythons

    @property
    def run(self) -> tuple[TrainingRun, Path] | None:
        """The run that trains on CPUs, with its model's config.json. Raises `LocalError` with too few workers."""
        found = run_of(self.fleet, self.key, self.file.parent)
        if found is None:
            return None
        groups = self.fleet.hyperpod_clusters[self.key].groups
        workers = sum(group.count for group in groups if group.node_type is NodeType.COMPUTE)
        needed = found[0].plan.nodes + 1
        if workers < needed:
            raise LocalError(
                f"the run `{found[0].name}` needs {needed} workers: {needed - 1} that train, and one that replaces the "
                f"lost one; there are {workers}",
                f"write --workers {needed}, or `count: {needed}` in the fleet file",
            )
        return found


def read_fleet(file: Path, *, workers: int | None = None) -> DrillFleet:
    """Return the fleet of `file`. Raises `FleetError` with its errors, and `LocalError` if the drill cannot start it.

    `workers`: number of nodes of the first compute group, instead of the file's.
    """
    fleet = load_fleet(file)
    if not fleet.clusters:
        raise LocalError(f"{file} has no cluster, which the drill would start", "name another file, or add --example")
    found = DrillFleet(file, fleet)
    if problems := list(_impossible(found)):
        raise LocalError(
            f"the drill cannot start the cluster `{found.key}`: {'; '.join(problems)}",
            "name another file, e.g. a copy without these parts, or add --example",
        )
    return found if workers is None else _with_workers(found, workers)


def _impossible(drilled: DrillFleet) -> Iterator[str]:
    """Yield what the cluster requires, and the drill does not have."""
    fleet, cluster = drilled.fleet, drilled.fleet.clusters[drilled.key]
    for name in _instance_types(cluster):
        facts = facts_of(name)
        if facts is not None and facts.accelerator == "gpu":
            yield f"there is no stand-in for the GPUs of {name} (use a type without GPUs, e.g. ml.c5.2xlarge)"
    if fleet.network is None or fleet.network.existing_vpc_id is not None:
        yield "its nodes must be in a VPC of the fleet (`network`)"
    storage = fleet.storage
    if any(system is not None and system.existing is not None for system in (storage.fsx, storage.home)):
        yield "an existing file system (`storage`) is not on this machine"
    if cluster.directory is not None or fleet.directory is not None:
        yield "there is no LDAP server (`directory`)"
    if isinstance(cluster, HyperPodConfig) and cluster.accounting_database is not None:
        yield "there is no database server for `accounting`"
    if cluster.neuron is not None:
        yield "its nodes do not have the Neuron packages of the AMI (`neuron`)"
    for environment in cluster.training.environments if cluster.training is not None else ():
        python = getattr(environment, "python", interpreter.VERSION)
        if python != interpreter.VERSION:
            needs = f"Python {python}" if python else "the packages of a Neuron release"
            yield f"`{environment.name}` requires {needs}, and nodes train with Python {interpreter.VERSION}"


def _instance_types(cluster: AnyCluster) -> list[str]:
    """Return its instance types, as HyperPod writes them, in order."""
    if isinstance(cluster, HyperPodConfig):
        return sorted({name for group in cluster.groups for name in group.types})
    nodes = [cluster.head_node.instance_type, *(pool.instance_type for pool in cluster.login_pools)]
    nodes += [name for queue in cluster.queues for part in (queue, *queue.resources) for name in part.types]
    return sorted({f"ml.{name}" for name in nodes})


def _with_workers(drilled: DrillFleet, workers: int) -> DrillFleet:
    cluster = drilled.fleet.clusters[drilled.key]
    if not isinstance(cluster, HyperPodConfig):
        raise LocalError(
            "the number of workers cannot be changed for a ParallelCluster cluster",
            "omit --workers, and set `min` and `max` of a queue in the fleet file",
        )
    first = next(group for group in cluster.groups if group.node_type is NodeType.COMPUTE)
    changed = first.model_copy(update={"count": workers})
    groups = tuple(changed if group is first else group for group in cluster.groups)
    clusters = {**drilled.fleet.clusters, drilled.key: cluster.model_copy(update={"groups": groups})}
    return DrillFleet(drilled.file, drilled.fleet.model_copy(update={"clusters": clusters}))
