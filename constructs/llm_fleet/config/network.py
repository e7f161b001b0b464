"""The network that a fleet stands in."""

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from llm_fleet.config.existing_network import ExistingNetworkConfig
from llm_fleet.config.model import FleetModel
from llm_fleet.config.types import Days, none_word
from llm_fleet.rules.terms import InternetAccess


class NetworkConfig(FleetModel):
    """A VPC made for the fleet, or an existing one under `vpc`."""

    written_as: ClassVar = {"availability_zone_ids": "azs"}

    az: str | None = None
    """AZ id of the only compute subnet, e.g. `usw2-az4`. Ids are the same in every account, letters are not."""
    azs: tuple[str, ...] = ()
    """AZ ids, where there are several; the first is where things go unless told otherwise. EFA never crosses AZs."""
    cidr: str | None = None
    """Addresses of the public and infrastructure subnets. Default: `10.0.0.0/16`."""
    compute_cidr: str | None = None
    """Addresses of the compute subnets, of which a node takes up to 32. Default: `10.1.0.0/16`."""
    internet: InternetAccess | None = None
    """`nat`, or `none` for a closed network in which every service that nodes need has an endpoint. Default: `nat`."""
    endpoints: tuple[str, ...] = ()
    """Interface endpoints next to those that the fleet needs, e.g. `bedrock-runtime`. Default: none."""
    flow_log_days: Annotated[Days | None, BeforeValidator(none_word)] = Field(default=None, alias="flow_logs")
    """How long flow logs are kept, e.g. `90 days`. Default: as the network construct says."""
    vpc: ExistingNetworkConfig | None = None
    """A network that exists already. Then nothing else may stand here."""

    @property
    def availability_zone_ids(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet, the first one first."""
        if self.vpc is not None:
            return tuple(self.vpc.subnets)
        return (self.az,) if self.az is not None else self.azs
