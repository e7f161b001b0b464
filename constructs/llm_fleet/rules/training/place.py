"""The cluster that a training runtime is for, as far as its rules ask: plain values, from whichever door."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of
from llm_fleet.catalog.instances import Instance, facts_of
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.rules.terms import NodeType
from llm_fleet.spec.hyperpod_cluster import Mount
from llm_fleet.spec.instance_group import InstanceGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingGroup:
    """A group of nodes."""

    name: str
    role: NodeType
    instance_types: Sequence[str]
    """Those that it may be made of; types made by `InstanceType.of` bring their own facts."""
    mounts: frozenset[str] | None = None
    """Paths of the file systems that its nodes mount; `None` for all of the cluster's."""

    @classmethod
    def of_hyperpod(cls, group: InstanceGroup, mounts: Iterable[Mount]) -> "TrainingGroup":
        """Return a group of a HyperPod cluster whose file systems are `mounts`."""
        mounted = frozenset(mount.mount_path for mount in mounts if group.mounts(mount.kind))
        return cls(name=group.name, role=group.node_type, instance_types=group.types, mounts=mounted)

    @property
    def computes(self) -> bool:
        """Whether jobs run on it."""
        return self.role is NodeType.COMPUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFolder:
    """A file system that nodes share."""

    kind: str
    """`lustre`, or another one."""
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlace:
    """A cluster, as far as training asks."""

    groups: Sequence[TrainingGroup]
    shared: Sequence[SharedFolder] = ()
    region: str | None = None
    """`None` or a token: nobody knows it yet."""
    neuron_release: str | None = None
    """What hosts carry, where it is told."""
    os: str | None = None
    """ParallelCluster's word for the operating system; `None` on HyperPod, whose image is AWS's choice."""
    source: str = "none"
    """Where downloads come from: `none`, `mirror` or `vendor`."""
    files: Sequence[Mapping[str, Any]] | None = ()
    """The files of the lock; `None` where they cannot be read, which is told elsewhere."""
    internet: bool = True
    """Whether nodes reach it; `True` also where nobody knows."""

    @property
    def compute_groups(self) -> list[TrainingGroup]:
        """Those that jobs run on."""
        return [group for group in self.groups if group.computes]


def facts_of_type(name: str) -> Instance | Ec2Instance | None:
    """Return what is known of an instance type, by its `ml.` name or EC2's; `None` for an unknown one."""
    return facts_of(name) or ec2_facts_of(name) or facts_of(f"ml.{name}")


def neuron_families(group: TrainingGroup) -> list[str]:
    """Return the instance families of `group` that have Neuron devices, e.g. `trn1`."""
    known = [facts_of_type(name) for name in group.instance_types]
    return list(dict.fromkeys(facts.family for facts in known if facts and facts.accelerator == "neuron"))


def processes_of_type(name: str) -> int | None:
    """Return how many processes a node of type `name` has: one a NeuronCore or GPU, else 1; `None` for unknown."""
    facts = facts_of_type(name)
    if facts is None:
        return None
    if facts.accelerator == "neuron":
        known = neuron_instance(str(name).removeprefix("ml."))
        return known.cores if known is not None else None
    return facts.accelerators if facts.accelerator == "gpu" else 1
