"""The processes of a run on one node, and the memory of each."""

from dataclasses import dataclass, replace
from typing import Literal

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of, gpu_memory_mib
from llm_fleet.catalog.instances import Instance, instances
from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.rules.inference.memory import GIB
from llm_fleet.rules.training.run.terms import Backend

_ML = "ml."
_MIB = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """What the processes of a run have of a node."""

    kind: Literal["neuron", "gpu", "none"]
    family: str
    """E.g. `trn1`."""
    processes: int
    """One for each NeuronCore or GPU; one for a node without either."""
    bytes: int | None
    """Memory of each; `None` where the catalog does not tell."""
    tensor_parallel: tuple[int, ...] = ()
    """Over how many cores of a node a layer can be spread; empty for any divisor."""

    def shared_out(self, processes: int | None) -> "Accelerator":
        """Return the same among `processes` of a node; a process has a GPU to itself, and else its share."""
        if processes is None or processes == self.processes:
            return self
        whole = None if self.bytes is None else self.bytes * self.processes
        own = self.bytes if self.kind == "gpu" or whole is None else whole // processes
        return replace(self, processes=processes, bytes=own, tensor_parallel=())


def accelerator_of(instance_type: str, backend: Backend | None = None) -> Accelerator | None:
    """Return what an instance type, by EC2's or SageMaker's name, has for `backend`; `None` for an unknown type.

    On processors a node has one process, and all of its memory.
    """
    name = instance_type.removeprefix(_ML)
    facts = ec2_facts_of(name) or instances().get(f"{_ML}{name}")
    if facts is None:
        return None
    family = name.split(".")[0]
    if backend is Backend.CPU or facts.accelerator is None:
        return Accelerator(kind="none", family=family, processes=1, bytes=_host_bytes(facts))
    return _neuron(name, family) if facts.accelerator == "neuron" else _gpu(facts, family)


def _host_bytes(facts: Ec2Instance | Instance) -> int | None:
    return None if facts.memory_gib is None else int(facts.memory_gib * GIB)


def _neuron(name: str, family: str) -> Accelerator | None:
    device = neuron_instance(name)
    if device is None:
        return None
    return Accelerator(
        kind="neuron",
        family=family,
        processes=device.cores,
        bytes=device.hbm_gib_per_device * GIB // device.cores_per_device,
        tensor_parallel=device.tensor_parallel,
    )


def _gpu(facts: Ec2Instance | Instance, family: str) -> Accelerator:
    mib = gpu_memory_mib(family)
    return Accelerator(
        kind="gpu", family=family, processes=facts.accelerators, bytes=None if mib is None else mib * _MIB
    )
