"""Which interface endpoints and NAT gateways a network has."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from llm_fleet.catalog.network import endpoint_names, node_endpoints
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.rules.tokens import is_unresolved


def interface_endpoints(
    internet: str, features: Collection[EndpointFeature] = (), extra: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the endpoints' names: those that nodes need, those of `features`, then `extra`, each once.

    Without internet, nodes need one for every service that they call; with it, only those by which a node whose way
    out is broken can still be entered and its logs read.
    """
    closed = internet == InternetAccess.NONE
    needed = [
        endpoint.name
        for endpoint in node_endpoints()
        if ("always" in endpoint.needed_by and (closed or endpoint.beside_nat))
        or any(feature in endpoint.needed_by for feature in features)
    ]
    return tuple(dict.fromkeys([*needed, *extra]))


def nat_gateways(internet: str, zones: int) -> int:
    """Return how many NAT gateways a network of so many AZs has; they stand in its first AZs, one in each."""
    return {InternetAccess.NONE: 0, InternetAccess.SHARED_NAT: 1}.get(InternetAccess(internet), zones)


def other_interfaces(
    availability_zone_ids: Sequence[str],
    internet: str,
    features: Collection[EndpointFeature] = (),
    extra: Sequence[str] = (),
    without: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, int]:
    """Return how many network interfaces each AZ has outside its compute subnet: endpoints and NAT gateways."""
    placed = endpoint_zones(interface_endpoints(internet, features, extra), availability_zone_ids, without)
    gateways = nat_gateways(internet, len(availability_zone_ids))
    return {
        zone: sum(zone in zones for zones in placed.values()) + (index < gateways)
        for index, zone in enumerate(availability_zone_ids)
    }


def endpoint_zones(
    names: Sequence[str], availability_zone_ids: Sequence[str], without: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the AZs in which each endpoint of `names` has an interface; one that no AZ is left for is left out.

    `without`: for an AZ id, the endpoints whose service AWS does not offer there. Interfaces in the other AZs answer
    for it: private DNS names lead to all of them, and the route tables of the VPC reach every subnet of it.
    """
    left = {name: tuple(one for one in availability_zone_ids if name not in without.get(one, ())) for name in names}
    return {name: zones for name, zones in left.items() if zones}


def check_without_endpoints(
    without: Mapping[str, Sequence[str]], *, availability_zone_ids: Sequence[str], internet: str, names: Sequence[str]
) -> list[Problem]:
    """Return what is wrong with the endpoints that AZs are to be without; `names`: all endpoints of the network."""
    problems = [
        Problem(
            code=Code.ZONE_WITHOUT_SUBNET,
            path=("without_endpoints", zone),
            message=f"the network has no AZ {zone}",
            value=zone,
            allowed=", ".join(availability_zone_ids),
            remedy=did_you_mean(zone, availability_zone_ids, otherwise="name an AZ of the network, or remove the line"),
        )
        for zone in without
        if not is_unresolved(zone) and zone not in availability_zone_ids
    ]
    for zone, left_out in without.items():
        problems += check_endpoints(left_out, path=("without_endpoints", zone))
    needed = names if internet == InternetAccess.NONE else ()
    homeless = sorted(set(needed) - set(endpoint_zones(needed, availability_zone_ids, without)))
    return [*problems, *(_homeless(name, availability_zone_ids) for name in homeless if not problems)]


def _homeless(name: str, availability_zone_ids: Sequence[str]) -> Problem:
    return Problem(
        code=Code.ENDPOINT_WITHOUT_ZONE,
        path=("without_endpoints",),
        message=f"no AZ is left for the endpoint {name}, and nodes of a closed network have no other way to it",
        value=", ".join(availability_zone_ids),
        allowed="an AZ at least that is not listed with it",
        remedy="add an AZ to `azs` in which AWS offers it: interfaces there answer for all AZs of the network",
    )


def check_endpoints(endpoints: Sequence[str], *, path: tuple[str, ...] = ("endpoints",)) -> list[Problem]:
    """Return which of the names, as they stand after `com.amazonaws.<region>.`, AWS offers no endpoint for."""
    return [
        Problem(
            code=Code.ENDPOINT_UNKNOWN,
            path=(*path, index),
            message=f"AWS offers no interface endpoint {name!r}",
            value=name,
            allowed="what follows `com.amazonaws.<region>.` in the name of an endpoint service",
            remedy=_remedy(name),
        )
        for index, name in enumerate(endpoints)
        if not is_unresolved(name) and name not in endpoint_names()
    ]


def _remedy(name: str) -> str:
    if name in {"s3", "dynamodb"}:
        return "leave it out: S3 has its gateway endpoint already" if name == "s3" else "add a gateway endpoint for it"
    plain = name.split(".", 3)[-1] if name.startswith("com.amazonaws.") else name
    return did_you_mean(
        plain, endpoint_names(), otherwise="look the name up with `aws ec2 describe-vpc-endpoint-services`"
    )
