"""Whether the network of a fleet has a place for the load balancers of its services."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.config.check_network_config import endpoint_features, zone_path
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.network import NetworkConfig
from llm_fleet.config.services.in_words import in_words
from llm_fleet.rules.inference.front_place import check_front_place
from llm_fleet.rules.network_endpoints import interface_endpoints
from llm_fleet.rules.network_load_balancers import check_load_balancer_room
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import InternetAccess


def check_front_places(fleet: Fleet) -> Iterator[Problem]:
    """Return where a load balancer cannot stand, by attribute names. Ask only of a network that is right by itself."""
    network = fleet.network
    if network is None:
        return
    for name, service in fleet.services.items():
        public = service.front.public
        if network.vpc is None and public and network.internet is InternetAccess.NONE:
            continue  # Told of the service, with all else that it cannot have there.
        for problem in check_front_place(
            service.front,
            zones=_zones(network, public=public),
            target_zones=network.availability_zone_ids,
            vpc_cidrs=(network.cidr, network.compute_cidr) if network.vpc is None else network.vpc.vpc_cidrs,
            internet=network.internet if network.vpc is None else None,
        ):
            yield replace(in_words(problem), path=_path(problem, network, name, public=public))
        if network.vpc is None:
            yield from check_load_balancer_room(network.cidr, others=_others(fleet, network, public=public))


def _zones(network: NetworkConfig, *, public: bool) -> tuple[str, ...]:
    """Return the AZs with a subnet for load balancers."""
    existing = network.vpc
    if existing is None:
        return (*network.availability_zone_ids, *network.load_balancer_zone_ids)
    return tuple(existing.public_subnets if public else existing.private_subnets or existing.subnets)


def _others(fleet: Fleet, network: NetworkConfig, *, public: bool) -> int:
    """Return how many other interfaces are in such a subnet: a NAT gateway, or the endpoints."""
    if public:
        return 1
    return len(interface_endpoints(network.internet, endpoint_features(fleet), network.endpoints))


def _path(problem: Problem, network: NetworkConfig, service: str, *, public: bool) -> tuple[PathPart, ...]:
    """Return where the user told what must change."""
    first, *rest = problem.path
    if first != "network":
        return ("services", service, *problem.path)
    if network.vpc is not None:
        told = "public_subnets" if public else "private_subnets"
        return ("network", "vpc", told if getattr(network.vpc, told) else "subnets")
    return ("network", *zone_path(network)) if rest[0] == "availability_zone_ids" else problem.path
