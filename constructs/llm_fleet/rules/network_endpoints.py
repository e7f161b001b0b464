"""Which interface endpoints and NAT gateways a network has."""

from collections.abc import Collection, Sequence

from llm_fleet.catalog.endpoints import endpoint_names, node_endpoints
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
) -> dict[str, int]:
    """Return how many network interfaces each AZ has outside its compute subnet: endpoints and NAT gateways."""
    endpoints = len(interface_endpoints(internet, features, extra))
    gateways = nat_gateways(internet, len(availability_zone_ids))
    return {zone: endpoints + (index < gateways) for index, zone in enumerate(availability_zone_ids)}


def check_endpoints(endpoints: Sequence[str]) -> list[Problem]:
    """Return which of the names, as they stand after `com.amazonaws.<region>.`, AWS offers no endpoint for."""
    return [
        Problem(
            code=Code.ENDPOINT_UNKNOWN,
            path=("endpoints", index),
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
