"""The network of a fleet file."""

from llm_fleet.catalog.network import regions
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec

_ELSEWHERE = "usw2"


class NetworkConfig(NetworkSpec):
    """A VPC made for the fleet, or an existing one under `vpc`."""

    vpc: ExistingNetworkSpec | None = None
    """A network that exists already. Then nothing else may stand here."""

    @property
    def way_out(self) -> InternetAccess | None:
        """How the network leads out; `None` of one that exists already, of which the file does not say."""
        return self.internet if self.vpc is None else None

    @property
    def zones(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet, the first one first."""
        return tuple(self.vpc.subnets) if self.vpc is not None else super().zones


def network_of_services(region: object) -> str:
    """Return a network as a fleet file has it that services can stand in: a load balancer needs two AZs.

    `region` may be anything.
    """
    known = regions().get(region) if isinstance(region, str) else None
    prefix = known.az_id_prefix if known else _ELSEWHERE
    return f"{{azs: [{prefix}-az1, {prefix}-az2]}}"
