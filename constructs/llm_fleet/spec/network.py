"""The network of a fleet: a new VPC, or an existing one."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from llm_fleet.rules.terms import InternetAccess
from llm_fleet.spec.references import SECURITY_GROUP, SUBNET, VPC, Key, SecurityGroup, Subnet, Vpc
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import Days, Several


class ExistingParts(Spec):
    """Parts of a network that exist already, e.g. because the network stack of a deleted fleet retained them."""

    vpc: Annotated[str, Field(examples=["vpc-0123456789abcdef0"])]
    """Id of the VPC, with the network's `cidr` and `compute_cidr` as CIDR blocks."""
    subnets: Annotated[Mapping[str, str], Field(examples=[{"usw2-az4": "subnet-0123456789abcdef0"}])] = {}
    """Ids of compute subnets, by AZ id. Those of the other AZs are created. Default: none."""
    security_group: str | None = None
    """Id of the security group of nodes, with its rules for all traffic from and to itself. Its other outbound rules
    are created. Default: a security group is created."""
    database_subnets: Several[str] = ()
    """Ids of the two database subnets, in their order. Default: they are created if the fleet has a database."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """KMS key of the flow logs, by ARN; its policy must let CloudWatch Logs use it. Default: as in a new network."""
    internet_gateway: str | None = None
    """Id of the internet gateway that is attached to the VPC, which can have only one. Default: one is created, unless
    `internet` is `none`."""


class NetworkSpec(Spec):
    """A new VPC. Errors, as EC2 would report them, have LF201 to LF222."""

    az: str | None = None
    """AZ id of the only compute subnet, e.g. `usw2-az4`. Ids are the same in every account, AZ letters are not."""
    availability_zone_ids: Annotated[Several[str], Field(alias="azs")] = ()
    """Several AZ ids, at most 8. The first is the default AZ of clusters and file systems, and has the largest compute
    subnet. EFA does not work across AZs. Append new AZs at the end: removing one or changing the order moves subnets.
    """
    load_balancer_zone_ids: Annotated[Several[str], Field(alias="load_balancer_azs")] = ()
    """AZ ids only for load balancers, which need two AZs; adding one moves nothing. Default: load balancers use the
    network's own AZs."""
    cidr: str = "10.0.0.0/16"
    """CIDR block of the public and infrastructure subnets; each AZ uses a sixteenth. In Python, a CDK token is
    assumed to be a /16. Default: `10.0.0.0/16`."""
    compute_cidr: str = "10.1.0.0/16"
    """CIDR block of the compute subnets; a node uses up to 32 addresses. The first AZ gets half of the block, the
    second half of the rest, and so on: an AZ that is appended does not move a subnet. Default: `10.1.0.0/16`."""
    internet: InternetAccess = InternetAccess.NAT
    """`nat` (a NAT gateway in each AZ), `shared-nat` (one in the first AZ, for all AZs), or `none` (no internet access,
    with VPC endpoints). Default: `nat`."""
    endpoints: Several[str] = ()
    """Interface endpoints in addition to those that the fleet needs, by their name after `com.amazonaws.<region>.`,
    e.g. `bedrock-runtime`. Default: none."""
    without_endpoints: Annotated[Mapping[str, Several[str]], Field(examples=[{"usw2-az4": ["ec2messages"]}])] = {}
    """Endpoints without an interface in an AZ, by AZ id, because AWS does not offer the service there; `llm-fleet
    check` detects this. Requests go to the interfaces in other AZs. Default: none."""
    flow_log_days: Annotated[Days, Field(alias="flow_logs")] = 90
    """Retention of flow logs. Default: `90 days`."""
    interface_quota: int | None = None
    """Quota of network interfaces (L-DF5E4CA3), which AWS enforces in each AZ. Default: 5000, AWS's own default."""

    existing: ExistingParts | None = None
    """Parts of the network that exist already and are used. All others are created in their VPC, as in a new one:
    subnets, gateways, routes, endpoints and flow logs. Default: none."""

    @property
    def zones(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet; the first is the default AZ."""
        return (self.az,) if self.az is not None else tuple(self.availability_zone_ids)


class ExistingNetworkSpec(Spec):
    """An existing VPC, with its subnets and security group. Nothing is looked up in AWS."""

    other_words: ClassVar[Mapping[str, str]] = {
        "vpc_id": "write `vpc`",
        "compute_subnets": "write `subnets`",
        "security_group_id": "write `security_group`",
    }

    vpc: Annotated[Vpc, Field(alias="id", examples=["vpc-0123456789abcdef0"])]
    """Id of the VPC; in Python the VPC or its id."""
    subnets: Annotated[Mapping[str, Subnet], Field(examples=[{"usw2-az4": "subnet-0123456789abcdef0"}])]
    """Compute subnet of each AZ, by AZ id. The first AZ is the default AZ of clusters and file systems."""
    compute_cidrs: Annotated[Mapping[str, str], Field(alias="cidrs")] = {}
    """CIDR block of each compute subnet, by AZ id, to check its size. Default: not checked."""
    security_group: SecurityGroup | None = None
    """Security group of nodes and mounts; it must allow all traffic from and to itself. Default: one is created."""
    private_subnets: Mapping[str, Subnet] = {}
    """Subnets of private load balancers, by AZ id: at least two AZs, including all of `subnets`. Default: `subnets`."""
    public_subnets: Mapping[str, Subnet] = {}
    """Subnets of public load balancers, by AZ id: at least two AZs, including all of `subnets`. Default: none; no
    public load balancers are possible."""
    vpc_cidrs: Several[str] = ()
    """The VPC's own CIDR blocks, from which private load balancers accept traffic. Default: none; set `allowed_from`.
    In Python the block of `vpc`, if the CDK knows it."""

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
