"""What the machines of a fleet bring along."""

from dataclasses import dataclass
from typing import Literal

from llm_fleet.catalog.ec2_instances import ec2_instance, efa_gbps, gpu_memory_mib
from llm_fleet.catalog.instances import instances
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.needs.machine import Machines

_MIB_OF_GIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """What one machine has. `None` stands for what no source tells."""

    vcpus: int | None
    memory_gib: float | None
    accelerator: Literal["gpu", "neuron"] | None
    accelerators: int
    """GPUs or Neuron devices."""
    accelerator_mib: int | None
    """Memory of one of them."""
    efa_interfaces: int | None
    efa_gbps: float | None
    """Gbit/s of all its network cards over EFA, at most; `None` without EFA."""

    @property
    def accelerator_gib(self) -> int | None:
        """Memory of all its accelerators together, in whole GiB; `None` without any."""
        if self.accelerator_mib is None:
            return None
        return self.accelerators * self.accelerator_mib // _MIB_OF_GIB


def facts_of_machines(machines: Machines) -> MachineFacts | None:
    """Return the facts of the most wanted type of `machines`; `None` for one that the catalog does not have."""
    known = instances().get(machines.instance_type) or ec2_instance(machines.ec2_type)
    if known is None:
        return None
    return MachineFacts(
        vcpus=known.vcpus,
        memory_gib=known.memory_gib,
        accelerator=known.accelerator,
        accelerators=known.accelerators,
        accelerator_mib=_memory_mib(machines.ec2_type) if known.accelerators else None,
        efa_interfaces=known.efa_interfaces,
        efa_gbps=efa_gbps(machines.ec2_type) if known.efa_interfaces else None,
    )


def _memory_mib(ec2_type: str) -> int | None:
    neuron = neuron_instance(ec2_type)
    return neuron.hbm_gib_per_device * _MIB_OF_GIB if neuron else gpu_memory_mib(ec2_type.partition(".")[0])
