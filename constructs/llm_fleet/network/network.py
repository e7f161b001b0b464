"""What storage and clusters need to know of a network, made here or elsewhere."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from aws_cdk import aws_ec2 as ec2
from constructs import IDependable

from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import InternetAccess


class Network(Protocol):
    """A VPC with one compute subnet an AZ, and the security group in which clusters and their mounts live."""

    @property
    def vpc(self) -> ec2.IVpc:
        """The VPC."""
        ...

    @property
    def internet(self) -> InternetAccess | None:
        """Whether its compute subnets have a way to the internet; `None` where nobody told."""
        ...

    @property
    def availability_zone_ids(self) -> tuple[str, ...]:
        """AZ ids with a compute subnet, e.g. `("usw2-az4",)`; the first is where things go unless told otherwise."""
        ...

    @property
    def compute_subnets(self) -> Mapping[str, ec2.ISubnet]:
        """The compute subnet of each AZ id, in the order of `availability_zone_ids`."""
        ...

    def compute_subnet(self, availability_zone_id: str | None = None) -> ec2.ISubnet:
        """Return the compute subnet of an AZ; of the first when none is named.

        Raises `FleetError` (LF206) for an AZ in which the network has no compute subnet.
        """
        ...

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The group that every cluster and every mounting client of this network shares, with EFA's self-rules."""
        ...

    @property
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`."""
        ...

    @property
    def security_group_rules(self) -> IDependable:
        """The standing rules of `security_group`. A file system must depend on them: FSx tests its port when made."""
        ...

    @property
    def connectivity(self) -> IDependable:
        """Routes, NAT and endpoints. A cluster must depend on them: its nodes reach S3 as soon as they boot."""
        ...

    def reserve_addresses(self, claims: Iterable[AddressClaim]) -> list[Problem]:
        """Set addresses of the compute subnets aside, and return what does not fit with all that others have set aside.

        The caller raises the problems together with its own, as `raise_problems([...])`. One that forgets is still
        told, by the network's own validation at synth. Each problem's path begins with `network`. Claims in a subnet
        whose size nobody told (an existing network) always fit.
        """
        ...

    def database_subnets(self) -> list[ec2.ISubnet]:
        """Return subnets in different AZs for databases: two, or fewer where an existing network has no more."""
        ...

    def load_balancer_subnets(self, *, public: bool) -> Mapping[str, ec2.ISubnet]:
        """Return the subnets for load balancers, by AZ id: public ones, or private ones.

        Empty where a network has none, or nobody told of them.
        """
        ...

    @property
    def cidrs(self) -> tuple[str, ...]:
        """The blocks of the VPC; empty where nobody told."""
        ...

    def keep(self) -> None:
        """Keep, when the stack is deleted, all that a retained file system still stands in. Idempotent."""
        ...
