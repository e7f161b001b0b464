"""The network that a fleet stands in: one to be made, or one that exists."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.references import SECURITY_GROUP, SUBNET, VPC, SecurityGroup, Subnet, Vpc
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import Days, Several


class NetworkSpec(Spec):
    """A VPC to be made. What EC2 would refuse of it has LF201 to LF222."""

    az: str | None = None
    """AZ id of the only compute subnet, e.g. `usw2-az4`. Ids are the same in every account, letters are not."""
    availability_zone_ids: Annotated[Several[str], Field(alias="azs")] = ()
    """AZ ids, where there are several, up to 8; the first is where things go unless told otherwise, and has the largest
    compute subnet. EFA never crosses AZs. Append further ones: to take one out, or to change the order, moves subnets.
    """
    load_balancer_zone_ids: Annotated[Several[str], Field(alias="load_balancer_azs")] = ()
    """AZ ids for load balancers alone, which need two: one that is added moves nothing. Default: they stand in the
    network's own AZs."""
    cidr: str = "10.0.0.0/16"
    """Addresses of the public and infrastructure subnets, of which each AZ takes a sixteenth. A token is taken as a
    /16. Default: `10.0.0.0/16`."""
    compute_cidr: str = "10.1.0.0/16"
    """Addresses of the compute subnets, of which a node takes up to 32. Each AZ takes half of what those before it have
    left, so that an AZ that is appended moves no subnet. Default: `10.1.0.0/16`."""
    internet: InternetAccess = InternetAccess.NAT
    """`nat`, a NAT gateway in each AZ, `shared-nat` (one in the first AZ for all), or `none`: a closed network with
    endpoints. Default: `nat`."""
    endpoints: Several[str] = ()
    """Interface endpoints next to those that the fleet needs, as named after `com.amazonaws.<region>.`, e.g.
    `bedrock-runtime`. Default: none."""
    without_endpoints: Annotated[Mapping[str, Several[str]], Field(examples=[{"usw2-az4": ["ec2messages"]}])] = {}
    """Endpoints that an AZ has no interface of, by AZ id, because AWS does not offer the service there, which
    `llm-fleet check` finds out: those in the other AZs answer for it. Default: none."""
    flow_log_days: Annotated[Days, Field(alias="flow_logs")] = 90
    """How long flow logs are kept. Default: `90 days`."""
    interface_quota: int | None = None
    """Network interfaces that the account may have in an AZ (quota L-DF5E4CA3). Default: 5000, what AWS grants."""

    @property
    def zones(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet, the first one first."""
        return (self.az,) if self.az is not None else tuple(self.availability_zone_ids)


class ExistingNetworkSpec(Spec):
    """A VPC that exists already, with the subnets and the security group to use. Nothing is looked up."""

    other_words: ClassVar[Mapping[str, str]] = {
        "vpc_id": "write `vpc`",
        "compute_subnets": "write `subnets`",
        "security_group_id": "write `security_group`",
    }

    vpc: Annotated[Vpc, Field(alias="id", examples=["vpc-0123456789abcdef0"])]
    """The VPC's id; in Python the VPC or its id."""
    subnets: Annotated[Mapping[str, Subnet], Field(examples=[{"usw2-az4": "subnet-0123456789abcdef0"}])]
    """The compute subnet of each AZ, by AZ id. The first AZ is where things go unless told otherwise."""
    compute_cidrs: Annotated[Mapping[str, str], Field(alias="cidrs")] = {}
    """The CIDR of each compute subnet, by AZ id, so that too small a one is told. Default: not known, not checked."""
    security_group: SecurityGroup | None = None
    """Security group of nodes and mounts, which lets all traffic in from, and out to, itself. Default: one is made."""
    private_subnets: Mapping[str, Subnet] = {}
    """Subnets of private load balancers, by AZ id: two AZs at least, and all of `subnets`. Default: `subnets`."""
    public_subnets: Mapping[str, Subnet] = {}
    """Subnets of public load balancers, by AZ id, likewise. Default: none, and no public ones."""
    vpc_cidrs: Several[str] = ()
    """The VPC's own blocks, from which private load balancers are reached. Default: none; write `allowed_from`. In
    Python the block of `vpc`, where the CDK knows it."""

    @property
    def vpc_id(self) -> str:
        """The id of `vpc`, which may be a token."""
        return VPC.name_of(self.vpc)

    @property
    def subnet_ids(self) -> dict[str, str]:
        """The id of each compute subnet, by AZ id."""
        return {zone: SUBNET.name_of(subnet) for zone, subnet in self.subnets.items()}

    @property
    def security_group_id(self) -> str | None:
        """The id of `security_group`, which may be a token."""
        return None if self.security_group is None else SECURITY_GROUP.name_of(self.security_group)
