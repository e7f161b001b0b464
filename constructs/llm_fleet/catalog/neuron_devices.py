"""Facts about Neuron devices: cores and memory of one, and over how many cores of an instance a model can be spread."""

from dataclasses import dataclass

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.ec2_instance_type import ec2_facts_of
from llm_fleet.catalog.ec2_instances import ec2_instance_names


@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronInstance:
    """An instance type with Neuron devices."""

    name: str
    """EC2's name, e.g. `inf2.xlarge`."""
    family: str
    devices: int
    """How many `/dev/neuron<n>` it has."""
    cores_per_device: int
    hbm_gib_per_device: int
    host_memory_gib: float
    vcpus: int
    target: str
    """What the compiler compiles for; models of one target run on all its families."""
    tensor_parallel: tuple[int, ...]
    """Over how many cores a model can be spread, ascending; empty where nobody told."""

    @property
    def cores(self) -> int:
        """NeuronCores of all devices, as the runtime counts them."""
        return self.devices * self.cores_per_device

    @property
    def hbm_gib(self) -> int:
        """Memory of all devices together, in GiB."""
        return self.devices * self.hbm_gib_per_device

    @property
    def device_paths(self) -> tuple[str, ...]:
        """`/dev/neuron0` and so on."""
        return tuple(f"/dev/neuron{number}" for number in range(self.devices))


def neuron_instance(instance_type: str) -> NeuronInstance | None:
    """Return the facts of `instance_type`; `None` where EC2 has no such type, or one without known Neuron devices."""
    facts = ec2_facts_of(instance_type)
    family = load("neuron_devices")["families"].get(facts.family) if facts else None
    if facts is None or family is None:
        return None
    return NeuronInstance(
        name=facts.name,
        family=facts.family,
        devices=facts.accelerators,
        cores_per_device=family["cores"],
        hbm_gib_per_device=family["hbm_gib"],
        host_memory_gib=facts.memory_gib,
        vcpus=facts.vcpus,
        target=family["target"],
        tensor_parallel=tuple(load("neuron_devices")["tensor_parallel"].get(facts.name, ())),
    )


def neuron_instance_names() -> list[str]:
    """Return all instance types with Neuron devices, by family and size of their memory."""
    families: list[str] = list(load("neuron_devices")["families"])
    return [each.name for family in families for each in sizes_of(family)]


def sizes_of(family: str) -> list[NeuronInstance]:
    """Return the instance types of `family`, the smallest first."""
    known = [neuron_instance(name) for name in ec2_instance_names() if name.startswith(f"{family}.")]
    found = [each for each in known if each is not None]
    return sorted(found, key=lambda each: (each.hbm_gib, each.host_memory_gib))
