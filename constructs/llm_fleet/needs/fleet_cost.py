"""Costs of a fleet: instances, storage, network."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from llm_fleet.catalog.ec2_instances import Price, PriceTable, hours_of_a_month
from llm_fleet.fleet_file.check_network import endpoint_features
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.machines import CapacitySource, Machines, MachineService, machines_of
from llm_fleet.rules.network import endpoint_zones, interface_endpoints, nat_gateways
from llm_fleet.spec.storage import LustreSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """A number of equal items with one price."""

    owner: str
    """Part of the fleet, e.g. `train/trn1` or `storage.fsx`."""
    what: str
    """Description for users, e.g. `ml.trn1.32xlarge` or `Lustre PERSISTENT_2 SSD, 250 MB/s/TiB`."""
    services: tuple[str, ...]
    """Services whose prices apply in the price table, the best match first."""
    item: str
    """Its name in the price table."""
    minimum: Decimal
    """Number of items that always run, or size of storage, in `unit`."""
    maximum: Decimal
    """Maximum number of items, or size, in `unit`."""
    price: Price | None
    """`None` where no price is known."""
    paid_before: bool = False
    """Whether it was paid at purchase, so that running costs nothing more."""
    note: str = ""
    """Additional information about the price."""
    unit: str = ""
    """Unit of `minimum` and `maximum`, e.g. `GiB`; empty for a number of items."""

    @property
    def hourly_minimum(self) -> Decimal | None:
        """USD per hour of the items that always run; `None` if no price is known."""
        return self._hourly(self.minimum)

    @property
    def hourly_maximum(self) -> Decimal | None:
        """USD per hour of all items; `None` if no price is known."""
        return self._hourly(self.maximum)

    def _hourly(self, quantity: Decimal) -> Decimal | None:
        if self.paid_before or not quantity:
            return Decimal(0)
        if self.price is None:
            return None
        hourly = self.price.usd if self.price.unit == "hour" else self.price.usd / hours_of_a_month()
        return quantity * hourly


_ANY_SAGEMAKER = "sagemaker"
"""The price of an `ml.` type without a known use."""

_MACHINE_COST_SERVICES = {
    MachineService.HYPERPOD: "sagemaker-cluster",
    MachineService.PARALLELCLUSTER: "ec2",
    MachineService.ECS: "ec2",
    MachineService.ENDPOINT: "sagemaker-hosting",
    MachineService.TRAINING_JOB: "sagemaker-training",
    MachineService.NOTEBOOK: "sagemaker-notebook",
    MachineService.STUDIO: "sagemaker-studio",
}

_NOTES = {
    CapacitySource.SPOT: "upper limit: this is the on-demand price, and Spot costs less",
    CapacitySource.TRAINING_PLAN: "paid when the training plan was bought",
    CapacitySource.CAPACITY_BLOCK: "paid when the capacity block was bought",
    CapacitySource.RESERVATION: "the reservation costs the same when it is not used",
}


def machine_costs(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    """Return a line for each kind of instances of each part, and for the second volumes of HyperPod's nodes."""
    for machines in machines_of(fleet):
        if machines.count:
            yield _machine_cost_line(machines, fleet.region, table)
    yield from _volumes(fleet, table)


def services_of(service: MachineService) -> tuple[str, ...]:
    """Return the services whose prices apply to machines of `service`, the best match first."""
    own = _MACHINE_COST_SERVICES[service]
    return (own,) if service.on_ec2 else (own, _ANY_SAGEMAKER)


def _machine_cost_line(machines: Machines, region: str, table: PriceTable) -> CostLine:
    services = services_of(machines.service)
    return CostLine(
        owner=machines.owner,
        what=" or ".join(machines.instance_types) or "instances of the capacity block",
        services=services,
        item=machines.instance_type,
        minimum=Decimal(machines.minimum),
        maximum=Decimal(machines.count),
        price=None if machines.capacity.paid_before else table.find(services, machines.instance_type, region),
        paid_before=machines.capacity.paid_before,
        note=_note(machines),
    )


def _note(machines: Machines) -> str:
    notes = [_NOTES.get(machines.capacity, "")]
    if machines.at_first > machines.minimum:
        notes.append(
            f"{machines.at_first} start at first, the minimum of ECS; the idle one is terminated after 15 minutes"
        )
    if machines.other_types and not machines.capacity.paid_before:
        notes.append(f"the price is that of {machines.instance_type}, the first choice")
    return "; ".join(note for note in notes if note)


def _volumes(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    services = (_MACHINE_COST_SERVICES[MachineService.HYPERPOD],)
    for name, cluster in fleet.hyperpod_clusters.items():
        for group in cluster.groups:
            if group.ebs_volume_gib is not None and group.count:
                size = Decimal(group.ebs_volume_gib * group.count)
                yield CostLine(
                    owner=f"{name}/{group.name}",
                    what="second volumes",
                    services=services,
                    item="volume",
                    minimum=size,
                    maximum=size,
                    price=table.find(services, "volume", fleet.region),
                    unit="GiB",
                )


_NETWORK_COST_SERVICES = ("network",)


def network_costs(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    """Return a line for NAT gateways, one for interface endpoints in all AZs, and one for load balancers."""
    placed = _endpoints(fleet)
    counts = {
        ("network", "NAT gateways", "nat-gateway"): _gateways(fleet),
        ("network", "interface endpoints", "interface-endpoint"): sum(map(len, placed.values())),
        ("services", "load balancers", "load-balancer"): len(fleet.services),
        ("clusters", "load balancers of login pools", "load-balancer"): sum(
            len(cluster.login_pools) for cluster in fleet.parallelclusters.values()
        ),
    }
    for (owner, what, item), count in counts.items():
        if count:
            yield CostLine(
                owner=owner,
                what=what,
                services=_NETWORK_COST_SERVICES,
                item=item,
                minimum=Decimal(count),
                maximum=Decimal(count),
                price=table.find(_NETWORK_COST_SERVICES, item, fleet.region),
                note=_endpoints_note(placed) if item == "interface-endpoint" else "",
            )


def _endpoints_note(placed: Mapping[str, Collection[str]]) -> str:
    """Return how the count results from endpoints and AZs: AWS charges for each endpoint in each of its AZs."""
    zones = {zone for each in placed.values() for zone in each}
    endpoints = f"{len(placed)} {'endpoint' if len(placed) == 1 else 'endpoints'}"
    if len(zones) == 1:
        return f"{endpoints} in 1 AZ"
    if all(len(each) == len(zones) for each in placed.values()):
        return f"{endpoints} in each of {len(zones)} AZs"
    return f"{endpoints} in {len(zones)} AZs, without those of `without_endpoints`"


def _gateways(fleet: Fleet) -> int:
    network = fleet.network
    if network is None or network.vpc is not None:
        return 0
    return nat_gateways(network.internet, len(network.zones))


def _endpoints(fleet: Fleet) -> dict[str, tuple[str, ...]]:
    """Return the AZs of each new interface endpoint."""
    network = fleet.network
    if network is None or network.vpc is not None:
        return {}
    names = interface_endpoints(network.internet, endpoint_features(fleet), network.endpoints)
    return endpoint_zones(names, network.zones, network.without_endpoints)


_INSTANCE_CLASS = "db.t4g.medium"
"""The construct's default, as in `SlurmDatabaseSettings`."""


def storage_costs(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    """Return a line for each kind of new storage; the costs of existing storage are not included."""
    storage = fleet.storage
    if storage.fsx is not None and storage.fsx.existing is None:
        yield _lustre(storage.fsx, fleet.region, table)
    if storage.home is not None and storage.home.existing is None:
        home = storage.home
        kind = home.deployment_type
        of_storage, of_throughput = open_zfs_price_items(kind)
        yield _home_cost_line(f"OpenZFS {kind}, storage", of_storage, home.storage_capacity_gib, "GiB", table, fleet)
        throughput = home.effective_throughput_capacity
        yield _home_cost_line(f"OpenZFS {kind}, throughput", of_throughput, throughput, "MB/s", table, fleet)
    yield from _database(fleet, table)


def lustre_price_item(deployment_type: str, storage_type: str, throughput: int | None) -> str:
    """Return the name in the price table; `throughput`: in MB/s/TiB, if the deployment type has one."""
    return f"{deployment_type}/{storage_type}" + (f"/{throughput}" if throughput is not None else "")


def open_zfs_price_items(deployment_type: str) -> tuple[str, str]:
    """Return the names of storage and of throughput in the price table."""
    return f"{deployment_type}/storage", f"{deployment_type}/throughput"


def _lustre(spec: LustreSpec, region: str, table: PriceTable) -> CostLine:
    throughput = spec.effective_throughput
    kind, storage = spec.deployment_type, spec.storage_type
    item = lustre_price_item(kind, storage, throughput)
    size = spec.effective_capacity_gib
    elastic = "" if size is not None else "elastic: billed by the stored data and the throughput"
    return CostLine(
        owner="storage.fsx",
        what=f"Lustre {kind} {storage}" + (f", {throughput} MB/s/TiB" if throughput is not None else ""),
        services=("lustre",),
        item=item,
        minimum=Decimal(size or 1),
        maximum=Decimal(size or 1),
        price=None if size is None else table.find(("lustre",), item, region),
        note=elastic,
        unit="" if size is None else "GiB",
    )


def _home_cost_line(what: str, item: str, quantity: int, unit: str, table: PriceTable, fleet: Fleet) -> CostLine:
    return CostLine(
        owner="storage.home",
        what=what,
        services=("openzfs",),
        item=item,
        minimum=Decimal(quantity),
        maximum=Decimal(quantity),
        price=table.find(("openzfs",), item, fleet.region),
        unit=unit,
    )


def _database(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    if fleet.storage.slurm_database is None:
        return
    database = fleet.storage.slurm_database
    servers = 2 if database.standby else 1
    if database.serverless:
        low, high = database.effective_capacity
        what, item = "Aurora capacity units", "acu"
    else:
        low = high = 1.0
        what = item = f"{database.engine} on {database.instance_class or _INSTANCE_CLASS}"
    yield CostLine(
        owner="storage.slurm_database",
        what=what,
        services=("rds",),
        item=item,
        minimum=Decimal(str(low)) * servers,
        maximum=Decimal(str(high)) * servers,
        price=table.find(("rds",), item, fleet.region),
    )


NOT_IN_THE_PRICE = (
    "data transfer, and the charges of NAT gateways, endpoints and load balancers for each GB",
    "root volumes, and volumes of notebooks, Studio, endpoints and training jobs",
    "file systems and volumes under `storage` of a ParallelCluster, model exports, and the fee of managed instances",
    "buckets, backups, snapshots, and requests to S3",
    "logs, metrics, keys, secrets, functions and state machines",
    "tax, support, discounts, savings plans and free tiers",
)
"""Charges of AWS that the plan does not include."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCost:
    """All cost lines and their sums."""

    region: str
    lines: tuple[CostLine, ...]

    @property
    def hourly_minimum(self) -> Decimal:
        """USD per hour of everything that always runs and has a price."""
        return _sum(line.hourly_minimum for line in self.lines)

    @property
    def hourly_maximum(self) -> Decimal:
        """USD per hour of everything that can run and has a price."""
        return _sum(line.hourly_maximum for line in self.lines)

    @property
    def unpriced(self) -> tuple[CostLine, ...]:
        """Lines without a known price, which the sums do not include."""
        return tuple(line for line in self.lines if line.hourly_maximum is None)

    @property
    def of_another_region(self) -> tuple[CostLine, ...]:
        """Lines without a price in the fleet's region, for which the sums use that of another region."""
        return tuple(line for line in self.lines if line.price is not None and line.price.region != self.region)

    @property
    def unverified(self) -> tuple[CostLine, ...]:
        """Lines whose price is not from AWS itself."""
        return tuple(line for line in self.lines if line.price is not None and not line.price.verified)


def cost_of(fleet: Fleet, table: PriceTable) -> FleetCost:
    """Return the costs of `fleet` according to `table`: instances, network, storage."""
    lines = (*machine_costs(fleet, table), *network_costs(fleet, table), *storage_costs(fleet, table))
    return FleetCost(region=fleet.region, lines=lines)


def _sum(numbers: Iterable[Decimal | None]) -> Decimal:
    return sum((number for number in numbers if number is not None), Decimal(0))
