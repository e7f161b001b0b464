"""Names of EC2's instance types, with a way to say one that the catalog does not know yet."""

from typing import Literal

from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_instance


class Ec2InstanceType(str):
    """An instance type of EC2: a plain string that also knows its facts.

    Any name of the catalog may be given as a plain string. `of` is for a type that AWS has brought out since, and is
    the only way past the check against the catalog.
    """

    __slots__ = ("facts",)

    facts: Ec2Instance | None
    """What is known of it; `None` for a name that is not in the catalog."""

    def __new__(cls, name: str) -> "Ec2InstanceType":
        """Make the type called `name`, with the catalog's facts where it has any."""
        self = super().__new__(cls, name)
        self.facts = ec2_instance(name)
        return self

    @classmethod
    def of(
        cls,
        name: str,
        *,
        architecture: Literal["x86_64", "arm64"],
        vcpus: int,
        memory_gib: float,
        cores: int | None = None,
        threads_per_core: int = 2,
        network_cards: int = 1,
        accelerator: Literal["gpu", "neuron"] | None = None,
        accelerators: int = 0,
        gpu_maker: str | None = None,
        efa_interfaces: int = 0,
        instance_store_gb: int = 0,
        capacity_block: bool = False,
        spot: bool = True,
    ) -> "Ec2InstanceType":
        """Return a type that is newer than this release of llm-fleet. What is said of it replaces the catalog's facts.

        Defaults: no accelerator, EFA or local disk, one network card, two threads a core, sold as spot, not in Capacity
        Blocks. Raises `ValueError` when `name` begins with SageMaker's `ml.` or a number is not possible.
        """
        if name.startswith("ml."):
            raise ValueError(f"an instance type of EC2 has no 'ml.' before it, got {name!r}")
        if min(vcpus, network_cards) < 1 or min(accelerators, efa_interfaces, instance_store_gb) < 0:
            raise ValueError(f"{name}: vcpus and network_cards must be 1 or more, the other numbers 0 or more")
        if bool(accelerator) != bool(accelerators):
            raise ValueError(f"{name}: give accelerator and accelerators together, or neither")
        self = cls(name)
        self.facts = Ec2Instance(
            name=name,
            architecture=architecture,
            vcpus=vcpus,
            cores=cores if cores is not None else vcpus // threads_per_core,
            memory_gib=memory_gib,
            accelerator=accelerator,
            accelerators=accelerators,
            gpu_maker=gpu_maker,
            efa_interfaces=efa_interfaces,
            network_cards=network_cards,
            threads_per_core=threads_per_core,
            instance_store_gb=instance_store_gb,
            capacity_block=capacity_block,
            spot=spot,
        )
        return self


def ec2_facts_of(instance_type: str) -> Ec2Instance | None:
    """Return what `Ec2InstanceType.of` was told of `instance_type`, else the catalog's facts, else `None`."""
    if isinstance(instance_type, Ec2InstanceType):
        return instance_type.facts
    return ec2_instance(instance_type)
