"""What a fleet costs."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from llm_fleet.catalog.prices import PriceTable
from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.cost_line import CostLine
from llm_fleet.needs.machine_costs import machine_costs
from llm_fleet.needs.network_costs import network_costs
from llm_fleet.needs.storage_costs import storage_costs

NOT_IN_THE_PRICE = (
    "data transfer, and what NAT gateways, endpoints and load balancers take for each GB",
    "root volumes, and volumes of notebooks, Studio, endpoints and training jobs",
    "file systems and volumes under `storage` of a ParallelCluster, what exports a model, and the fee of managed "
    "instances",
    "buckets, backups, snapshots, and requests to S3",
    "logs, metrics, keys, secrets, functions and state machines",
    "tax, support, discounts, savings plans and free tiers",
)
"""What AWS asks money for and the plan has no number for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCost:
    """All lines, and what they come to."""

    region: str
    lines: tuple[CostLine, ...]

    @property
    def hourly_minimum(self) -> Decimal:
        """USD an hour of all that always runs and has a price."""
        return _sum(line.hourly_minimum for line in self.lines)

    @property
    def hourly_maximum(self) -> Decimal:
        """USD an hour of all that may run and has a price."""
        return _sum(line.hourly_maximum for line in self.lines)

    @property
    def unpriced(self) -> tuple[CostLine, ...]:
        """What no price is known of, and what the sums leave out."""
        return tuple(line for line in self.lines if line.hourly_maximum is None)

    @property
    def of_another_region(self) -> tuple[CostLine, ...]:
        """What has no price in the fleet's region, and is in the sums at that of another."""
        return tuple(line for line in self.lines if line.price is not None and line.price.region != self.region)

    @property
    def unverified(self) -> tuple[CostLine, ...]:
        """What has a price that AWS itself has not told."""
        return tuple(line for line in self.lines if line.price is not None and not line.price.verified)


def cost_of(fleet: Fleet, table: PriceTable) -> FleetCost:
    """Return what `fleet` costs by `table`: machines, the network, storage."""
    lines = (*machine_costs(fleet, table), *network_costs(fleet, table), *storage_costs(fleet, table))
    return FleetCost(region=fleet.region, lines=lines)


def _sum(numbers: Iterable[Decimal | None]) -> Decimal:
    return sum((number for number in numbers if number is not None), Decimal(0))
