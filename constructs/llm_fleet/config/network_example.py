"""A network as the fleet file writes it, for who has none."""

from llm_fleet.catalog.network import regions

_ELSEWHERE = "usw2"


def network_of_services(region: object) -> str:
    """Return one that services can stand in: a load balancer needs two AZs. `region` may be anything."""
    known = regions().get(region) if isinstance(region, str) else None
    prefix = known.az_id_prefix if known else _ELSEWHERE
    return f"{{azs: [{prefix}-az1, {prefix}-az2]}}"
