"""The network that a fleet stands in."""

from collections.abc import Mapping

from pydantic import Field

from llm_fleet.config.existing_network import ExistingNetworkConfig
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Days


class NetworkConfig(FleetModel):
    """A VPC made for the fleet, or an existing one under `vpc`."""

    az: str | None = None
    """AZ id of the only compute subnet, e.g. `usw2-az4`. Ids are the same in every account, letters are not."""
    azs: tuple[str, ...] = ()
    """AZ ids, where there are several; the first is where things go unless told otherwise. EFA never crosses AZs."""
    load_balancer_zone_ids: tuple[str, ...] = Field(default=(), alias="load_balancer_azs")
    """AZ ids for load balancers alone, which need two: one that is added moves nothing. Default: they stand in the
    network's own AZs."""
    cidr: str = "10.0.0.0/16"
    """Addresses of the public and infrastructure subnets. Default: `10.0.0.0/16`."""
    compute_cidr: str = "10.1.0.0/16"
    """Addresses of the compute subnets, of which a node takes up to 32. Default: `10.1.0.0/16`."""
    internet: InternetAccess = InternetAccess.NAT
    """`nat`, `shared-nat` (one gateway for all AZs), or `none`: a closed network with endpoints. Default: `nat`."""
    endpoints: tuple[str, ...] = ()
    """Interface endpoints next to those that the fleet needs, e.g. `bedrock-runtime`. Default: none."""
    without_endpoints: Mapping[str, tuple[str, ...]] = Field(default={}, examples=[{"usw2-az4": ["ec2messages"]}])
    """Endpoints that an AZ has no interface of, by AZ id, because AWS does not offer the service there, which
    `llm-fleet check` finds out: those in the other AZs answer for it. Default: none."""
    flow_log_days: Days = Field(default=90, alias="flow_logs")
    """How long flow logs are kept. Default: `90 days`."""
    interface_quota: int | None = None
    """Network interfaces that the account may have in an AZ (quota L-DF5E4CA3). Default: 5000, what AWS grants."""
    vpc: ExistingNetworkConfig | None = None
    """A network that exists already. Then nothing else may stand here."""

    @property
    def availability_zone_ids(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet, the first one first."""
        if self.vpc is not None:
            return tuple(self.vpc.subnets)
        return (self.az,) if self.az is not None else self.azs
