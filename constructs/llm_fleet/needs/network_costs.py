"""What a fleet's network and its load balancers cost by the hour."""

from collections.abc import Iterator
from decimal import Decimal

from llm_fleet.catalog.prices import PriceTable
from llm_fleet.config.check_network_config import endpoint_features
from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.cost_line import CostLine
from llm_fleet.rules.network_endpoints import endpoint_zones, interface_endpoints, nat_gateways

_SERVICES = ("network",)


def network_costs(fleet: Fleet, table: PriceTable) -> Iterator[CostLine]:
    """Return a line for NAT gateways, one for interface endpoints in all AZs, and one for load balancers."""
    counts = {
        ("network", "NAT gateways", "nat-gateway"): _gateways(fleet),
        ("network", "interface endpoints, one an AZ", "interface-endpoint"): _endpoints(fleet),
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
                services=_SERVICES,
                item=item,
                minimum=Decimal(count),
                maximum=Decimal(count),
                price=table.find(_SERVICES, item, fleet.region),
            )


def _gateways(fleet: Fleet) -> int:
    network = fleet.network
    if network is None or network.vpc is not None:
        return 0
    return nat_gateways(network.internet, len(network.availability_zone_ids))


def _endpoints(fleet: Fleet) -> int:
    network = fleet.network
    if network is None or network.vpc is not None:
        return 0
    names = interface_endpoints(network.internet, endpoint_features(fleet), network.endpoints)
    placed = endpoint_zones(names, network.availability_zone_ids, network.without_endpoints)
    return sum(map(len, placed.values()))
