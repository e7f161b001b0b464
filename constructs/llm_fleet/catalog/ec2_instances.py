"""EC2 instance types, prices of the catalog, and queries of the AWS Price List."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Self, get_args

from llm_fleet.catalog.data_file import KEY, DataFile, load, reader, typed

Architecture = Literal["x86_64", "arm64", "x86_64_mac", "arm64_mac"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ec2Instance:
    """One EC2 instance type."""

    name: Annotated[str, KEY]
    architecture: Architecture
    vcpus: int
    cores: int | None = None
    """Physical cores; Slurm's CPU count with hyper-threading off. `None` where EC2 does not report it."""
    memory_gib: float
    accelerator: Literal["gpu", "neuron"] | None = None
    accelerators: int = 0
    """GPUs or Neuron devices."""
    gpu_maker: str | None = None
    """`nvidia`, `amd` …; `None` without GPUs."""
    efa_interfaces: int = 0
    """Maximum number of EFA interfaces; 0 without EFA."""
    network_cards: int
    threads_per_core: int
    """2 with hyper-threading, otherwise 1."""
    instance_store_gb: int = 0
    """GB of all local disks together."""
    capacity_block: bool = False
    """Whether EC2 offers Capacity Blocks of it."""
    spot: bool = False

    @property
    def family(self) -> str:
        """The part before the dot, e.g. `trn1`."""
        return self.name.split(".")[0]


_of_account: dict[str, Mapping[str, Any]] = {}


def use_instance_types(facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Use `facts`, by type in the form of the catalog, before those of the catalog in this process.

    EC2 reported them, and they are the same in all accounts and Regions.
    """
    _of_account.update(facts)
    ec2_instance.cache_clear()


@cache
def ec2_instance(name: str) -> Ec2Instance | None:
    """Return the facts of the type `name`, e.g. `trn1.32xlarge`; `None` for a type that is not in the catalog."""
    facts = {**load("ec2_instances").get(name, {}), **_of_account.get(name, {})}
    return typed(Ec2Instance, facts, f"ec2_instances.json/{name}", name=name) if facts else None


def ec2_instance_names() -> list[str]:
    """Return the names of all EC2 instance types in the catalog, and of those of `use_instance_types`."""
    return list(dict.fromkeys([*load("ec2_instances"), *_of_account]))


def reported_facts(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the catalog's facts from one instance type of EC2's DescribeInstanceTypes, without zero and false values.

    Source: model botocore ec2 InstanceTypeInfo
    """
    gpus: list[Any] = answer.get("GpuInfo", {}).get("Gpus", [])
    number = sum(gpu["Count"] for gpu in gpus)
    neuron = sum(device["Count"] for device in answer.get("NeuronInfo", {}).get("NeuronDevices", []))
    cpus, network, usage = answer["VCpuInfo"], answer["NetworkInfo"], answer["SupportedUsageClasses"]
    (architecture,) = (name for name in answer["ProcessorInfo"]["SupportedArchitectures"] if name != "i386")
    facts = {
        "architecture": architecture,
        "vcpus": cpus["DefaultVCpus"],
        "memory_gib": answer["MemoryInfo"]["SizeInMiB"] / 1024,
        "accelerator": "gpu" if number else "neuron" if neuron else None,
        "accelerators": number or neuron,
        "efa_interfaces": network["EfaInfo"]["MaximumEfaInterfaces"] if network.get("EfaSupported") else 0,
        "network_cards": network["MaximumNetworkCards"],
        "threads_per_core": cpus["DefaultThreadsPerCore"],
        "cores": cpus.get("DefaultCores"),
        "instance_store_gb": answer.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        "gpu_maker": next((gpu["Manufacturer"].lower() for gpu in gpus), None),
        "capacity_block": "capacity-block" in usage,
        "spot": "spot" in usage,
    }
    return {name: value for name, value in facts.items() if value}


class Ec2InstanceType(str):
    """An EC2 instance type: a string with the facts of the type.

    Names in the catalog can be given as plain strings. `of` is for a type that AWS released later, and is the only
    way to skip the check against the catalog.
    """

    __slots__ = ("facts",)

    facts: Ec2Instance | None
    """`None` for a name that is not in the catalog."""

    def __new__(cls, name: str) -> "Ec2InstanceType":
        """Create the type `name`, with the facts of the catalog if it has any."""
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
        """Return a type that is newer than this release of llm-fleet. The arguments replace the catalog's facts.

        Defaults: no accelerator, EFA or local disk, one network card, two threads per core, available as spot, not as
        Capacity Block. Raises `ValueError` when `name` begins with SageMaker's `ml.` or a number is out of range.
        """
        if name.startswith("ml."):
            raise ValueError(f"an EC2 instance type does not begin with 'ml.', got {name!r}")
        if min(vcpus, network_cards) < 1 or min(accelerators, efa_interfaces, instance_store_gb) < 0:
            raise ValueError(f"{name}: vcpus and network_cards must be 1 or more, the other numbers 0 or more")
        if bool(accelerator) != bool(accelerators):
            raise ValueError(f"{name}: set both accelerator and accelerators, or neither")
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
    """Return the facts given to `Ec2InstanceType.of` for `instance_type`, or the catalog's, or `None`."""
    if isinstance(instance_type, Ec2InstanceType):
        return instance_type.facts
    return ec2_instance(instance_type)


_gpu_mib = reader(Mapping[str, int], "accelerator_memory", "gpu_mib")


def gpu_memory_mib(family: str) -> int | None:
    """Return the MiB of one GPU of an instance family, e.g. `p5`; `None` where EC2's API does not report it."""
    return _gpu_mib().get(family)


_efa_gbps = reader(Mapping[str, float], "efa_bandwidth", "efa_gbps")


def efa_gbps(ec2_type: str) -> float | None:
    """Return the maximum Gbit/s of all network cards of `ec2_type` together; `None` without EFA or a source."""
    return _efa_gbps().get(ec2_type)


Unit = Literal["hour", "gb-month"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """An On-Demand price without tax and discounts, with its source."""

    service: str
    """The service that charges it: `ec2`, `sagemaker`, `sagemaker-cluster`, `lustre`, `network` …"""
    item: str
    """The product, e.g. `trn1.32xlarge` or `PERSISTENT_2/SSD/250`."""
    region: str
    unit: Unit
    usd: Decimal
    """USD for one `unit` of one item."""
    source: str
    """The source of the price, as text."""
    read: str
    """ISO date of the source."""
    verified: bool
    """Whether the price was read from AWS itself."""

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> "Price":
        """Return the price in an entry of a file that llm-fleet wrote.

        Raises `ValueError`, `KeyError`, `TypeError` or `InvalidOperation`.
        """
        usd = Decimal(entry["usd"])
        if not usd.is_finite() or usd < 0:
            raise ValueError(f"{entry['usd']} is not a price")
        if entry["unit"] not in get_args(Unit):
            raise ValueError(f"`{entry['unit']}` is not a unit; write {' or '.join(get_args(Unit))}")
        texts = {name: entry[name] for name in ("service", "item", "region", "source")}
        if not all(isinstance(text, str) for text in texts.values()) or not isinstance(entry["verified"], bool):
            raise ValueError("service, item, region and source must be texts, verified must be true or false")
        read = date.fromisoformat(entry["read"]).isoformat()
        return cls(**texts, unit=entry["unit"], usd=usd, read=read, verified=entry["verified"])

    @property
    def entry(self) -> dict[str, Any]:
        """The entry of a file, which `of_entry` reads."""
        order = ("service", "item", "region", "unit", "usd", "source", "read", "verified")
        return {**{name: getattr(self, name) for name in order}, "usd": f"{self.usd.normalize():f}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceQuestion:
    """One request of GetProducts."""

    service_code: str
    unit: str
    """The unit of the prices that are used, as the Price List spells it."""
    filters: Mapping[str, str]
    """Required values of the product's attributes."""


def price_question(service: str, item: str, region: str) -> PriceQuestion | None:
    """Return the GetProducts request for `item` of `service` in `region`; `None` where no request is known."""
    product = load("price_list")["products"].get(service)
    if product is None:
        return None
    filters = {name: value.format(item=item, region=region) for name, value in product["filters"].items()}
    return PriceQuestion(service_code=product["service_code"], unit=product["unit"], filters=filters)


def price_list_region() -> str:
    """Return the region of the Price List API, which has the prices of all regions."""
    return load("price_list")["endpoint_region"]


_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by service, item and region."""

    prices: Mapping[_Key, Price] = field(default_factory=dict[_Key, Price])

    @classmethod
    def of(cls, prices: Iterable[Price]) -> Self:
        """Return a table of `prices`; a later price replaces an earlier one for the same key."""
        return cls({(one.service, one.item, one.region): one for one in prices})

    def with_prices(self, prices: Iterable[Price]) -> "PriceTable":
        """Return this table with `prices` replacing its own."""
        return PriceTable({**self.prices, **PriceTable.of(prices).prices})

    def find(self, services: Sequence[str], item: str, region: str) -> Price | None:
        """Return the price of `item` of the first of `services` that has one in `region`.

        Where `region` has none, this is the price in the region with the most prices; `Price.region` names it, and any
        output must show that. `None` where there is neither.
        """
        for place in (region, fallback_region()):
            for service in services:
                found = self.prices.get((service, item, place))
                if found is not None:
                    return found
        return None


@cache
def prices() -> PriceTable:
    """Return the price table that is part of llm-fleet."""
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


def price_sources() -> Iterator[DataFile]:
    """Yield the sources of `prices`, each with its own date: the table's date is only that of the reading."""
    facts: dict[str, Any] = load("prices")
    for name, source in facts["sources"].items():
        groups = [group for group in facts["groups"] if group["source"] == name]
        yield DataFile(
            name=f"prices/{name}",
            what="; ".join(f"prices of {group['service']} in {group['region']}" for group in groups),
            source=source["text"],
            checked=date.fromisoformat(source["read"]),
        )


def fallback_region() -> str:
    """Return the region whose prices are used where a region has none."""
    return load("prices")["fallback_region"]


def hours_of_a_month() -> int:
    """Return the hours in a month for price estimates; AWS's calculators use the same number."""
    return load("prices")["hours_of_a_month"]
