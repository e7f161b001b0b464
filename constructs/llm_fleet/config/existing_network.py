"""A network that exists already."""

from collections.abc import Mapping

from pydantic import Field

from llm_fleet.spec.model import FleetModel


class ExistingNetworkConfig(FleetModel):
    """A VPC that exists already, with the subnets and the security group to use."""

    vpc_id: str = Field(alias="id", examples=["vpc-0123456789abcdef0"])
    """The VPC's id."""
    subnets: Mapping[str, str] = Field(examples=[{"usw2-az4": "subnet-0123456789abcdef0"}])
    """The compute subnet of each AZ, by AZ id."""
    compute_cidrs: Mapping[str, str] = Field(default={}, alias="cidrs")
    """The CIDR of each compute subnet, by AZ id, so that too small a one is told. Default: not known, not checked."""
    security_group_id: str | None = Field(default=None, alias="security_group")
    """Security group of nodes and mounts, which lets all traffic in from, and out to, itself. Default: one is made."""
    private_subnets: Mapping[str, str] = {}
    """Subnets of private load balancers, by AZ id: two AZs at least, and all of `subnets`. Default: `subnets`."""
    public_subnets: Mapping[str, str] = {}
    """Subnets of public load balancers, by AZ id, likewise. Default: none, and no public ones."""
    vpc_cidrs: tuple[str, ...] = ()
    """The VPC's own blocks, from which private load balancers are reached. Default: none; write `allowed_from`."""
