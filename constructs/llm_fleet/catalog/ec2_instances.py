"""EC2 instance types, and prices: those that the catalog has, the forms of a user's own, and AWS's Price List."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Self

from llm_fleet.catalog.data_file import KEY, load, reader, typed

Architecture = Literal["x86_64", "arm64", "x86_64_mac", "arm64_mac"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ec2Instance:
    """One instance type of EC2."""

    name: Annotated[str, KEY]
    architecture: Architecture
    vcpus: int
    cores: int | None = None
    """Physical cores; what Slurm sees with hyper-threading off. `None` where EC2 does not tell."""
    memory_gib: float
    accelerator: Literal["gpu", "neuron"] | None = None
    accelerators: int = 0
    """GPUs or Neuron devices."""
    gpu_maker: str | None = None
    """`nvidia`, `amd` …; `None` without GPUs."""
    efa_interfaces: int = 0
    """How many EFA interfaces it can have at most; 0 without EFA."""
    network_cards: int
    threads_per_core: int
    """2 where the processor has hyper-threading, else 1."""
    instance_store_gb: int = 0
    """All local disks together."""
    capacity_block: bool = False
    """Whether it can be bought as a Capacity Block."""
    spot: bool = False

    @property
    def family(self) -> str:
        """The family without the size, e.g. `trn1`."""
        return self.name.split(".")[0]


@cache
def ec2_instance(name: str) -> Ec2Instance | None:
    """Return the facts of the type `name`, e.g. `trn1.32xlarge`; `None` for one that the catalog does not have."""
    facts = load("ec2_instances").get(name)
    return None if facts is None else typed(Ec2Instance, facts, f"ec2_instances.json/{name}", name=name)


def ec2_instance_names() -> list[str]:
    """Return the names of all types in the catalog."""
    return list(load("ec2_instances"))


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


_gpu_mib = reader(Mapping[str, int], "accelerator_memory", "gpu_mib")


def gpu_memory_mib(family: str) -> int | None:
    """Return the MiB of one GPU of an instance family, e.g. `p5`; `None` where EC2's answer does not tell."""
    return _gpu_mib().get(family)


_efa_gbps = reader(Mapping[str, float], "efa_bandwidth", "efa_gbps")


def efa_gbps(ec2_type: str) -> float | None:
    """Return Gbit/s of all network cards of `ec2_type` together, at most; `None` without EFA or where nobody tells."""
    return _efa_gbps().get(ec2_type)


Unit = Literal["hour", "gb-month"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A price on demand, without tax and discounts, with where it comes from."""

    service: str
    """Who rents it out: `ec2`, `sagemaker`, `sagemaker-cluster`, `lustre`, `network` …"""
    item: str
    """What, e.g. `trn1.32xlarge` or `PERSISTENT_2/SSD/250`."""
    region: str
    unit: Unit
    usd: Decimal
    """For one `unit` of one of them."""
    source: str
    """Where it was read, for people."""
    read: str
    """When, as ISO date."""
    verified: bool
    """Whether AWS itself told it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceQuestion:
    """One question of GetProducts."""

    service_code: str
    unit: str
    """Of the prices that count, as the Price List has it."""
    filters: Mapping[str, str]
    """What the product's attributes must be."""


def price_question(service: str, item: str, region: str) -> PriceQuestion | None:
    """Return how the price of `item` of `service` in `region` is asked; `None` where nobody knows how."""
    product = load("price_list")["products"].get(service)
    if product is None:
        return None
    filters = {name: value.format(item=item, region=region) for name, value in product["filters"].items()}
    return PriceQuestion(service_code=product["service_code"], unit=product["unit"], filters=filters)


def price_list_region() -> str:
    """Return where the Price List answers, for all regions."""
    return load("price_list")["endpoint_region"]


_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by service, item and region."""

    prices: Mapping[_Key, Price] = field(default_factory=dict[_Key, Price])

    @classmethod
    def of(cls, prices: Iterable[Price]) -> Self:
        """Return a table of `prices`; of two for the same thing, the later one counts."""
        return cls({(one.service, one.item, one.region): one for one in prices})

    def with_prices(self, prices: Iterable[Price]) -> "PriceTable":
        """Return this table with `prices` in the place of its own."""
        return PriceTable({**self.prices, **PriceTable.of(prices).prices})

    def find(self, services: Sequence[str], item: str, region: str) -> Price | None:
        """Return the price of `item` of the first of `services` that has one in `region`.

        Where `region` has none, that of the region with the most prices stands in (`Price.region` tells), which is to
        be said wherever it is shown. `None` where there is neither.
        """
        for place in (region, stand_in_region()):
            for service in services:
                found = self.prices.get((service, item, place))
                if found is not None:
                    return found
        return None


@cache
def prices() -> PriceTable:
    """Return the table that llm-fleet ships."""
    facts: dict[str, Any] = load("prices")
    return PriceTable.of(
        Price(
            service=group["service"],
            item=item,
            region=group["region"],
            unit=group["unit"],
            usd=Decimal(str(usd)),
            source=facts["sources"][group["source"]]["text"],
            read=facts["sources"][group["source"]]["read"],
            verified=facts["sources"][group["source"]]["verified"],
        )
        for group in facts["groups"]
        for item, usd in group["usd"].items()
    )


def stand_in_region() -> str:
    """Return the region whose prices stand in where a region has none."""
    return load("prices")["stand_in_region"]


def hours_of_a_month() -> int:
    """Return how many hours a month is taken to have; AWS's own calculators take as many."""
    return load("prices")["hours_of_a_month"]
