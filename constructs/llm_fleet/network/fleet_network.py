"""A VPC for clusters."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk.interfaces.aws_kms import IKeyRef
from constructs import Construct, DependencyGroup, IDependable

from llm_fleet.network.network import AddressBook, ExistingNetwork, Network
from llm_fleet.network.security_group import EfaSecurityGroup, retained_group
from llm_fleet.network.vpc import Endpoints, FlowLogs, make_vpc, vpc_of_zones
from llm_fleet.network.zones import (
    DatabaseSubnets,
    Ground,
    InternetExit,
    LoadBalancerSubnets,
    add_internet_routes,
    make_zones,
)
from llm_fleet.references import hold, key_of, region_of
from llm_fleet.rules.addresses import AddressPlan
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.network import (
    check_load_balancer_room,
    check_network,
    endpoint_zones,
    interface_endpoints,
    other_interfaces,
)
from llm_fleet.rules.network_layout import compute_subnet_cidrs
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.terms import EndpointFeature, InternetAccess
from llm_fleet.spec.network import ExistingNetworkSpec, NetworkSpec


class FleetNetwork(Network):
    """A VPC with public and private subnets in its first CIDR block and compute subnets in a second one.

    Nodes take an address of their subnet for every network card, 32 on a p5.48xlarge, so compute subnets have a block
    to themselves. Each AZ has one; EFA never crosses AZs, so a group is in one AZ. Private and compute subnets of an AZ
    share a route table, which has a gateway endpoint for S3. With `existing` parts in the spec, only the others are
    created.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        spec: NetworkSpec,
        *,
        endpoint_features: Collection[EndpointFeature] = (),
        encryption_key: IKeyRef | None = None,
    ) -> None:
        """Create the network, or raise `FleetError` with all its problems (LF201 to LF222, LF758).

        - `spec`: its settings, e.g. `NetworkSpec(az="usw2-az4")`. AZs are set by id, because an AZ's name refers to
          another AZ in each account, and capacity is bought by AZ id. By default there is a NAT gateway in each AZ, so
          that no AZ depends on another, and no cross-AZ traffic is billed; its price is small compared with an
          accelerated node. Interface endpoints that nodes need are created by default: all of them in a closed network;
          with NAT, those of Session Manager and of logs, so that users can log in to a node without internet access
          and read its logs. With internet access, an endpoint for which `without_endpoints` leaves no AZ is not
          created.
        - `endpoint_features`: features of nodes that need more endpoints. Default: none.
        - `encryption_key`: key of the flow logs; its policy must let CloudWatch Logs use it. Default: CloudWatch
          Logs' own encryption.
        """
        path = f"{scope.node.path}/{id}"
        raise_problems(check_is_spec(spec, NetworkSpec, "spec"), subject=path)
        found = check_network(spec, endpoint_features=endpoint_features, region=region_of(scope))
        raise_problems(found, subject=path)
        super().__init__(scope, id)
        self._name = self.node.path
        self._zone_ids = spec.zones
        self._internet = spec.internet
        self._cidrs = (spec.cidr, spec.compute_cidr)
        self._database_subnets: DatabaseSubnets | None = None
        self.cfn_vpc: ec2.CfnVPC | None = None
        """`None` if it exists already, with its second CIDR block."""
        self.cfn_compute_block: ec2.CfnVPCCidrBlock | None = None
        existing = spec.existing
        if existing is None:
            self.cfn_vpc, self.cfn_compute_block = make_vpc(
                self, cidr=spec.cidr, compute_cidr=spec.compute_cidr, name=self._name
            )
            hold(self.cfn_vpc)
            vpc_id = self.cfn_vpc.ref
        else:
            vpc_id = existing.vpc
        self._make_zones(spec, vpc_id)
        names = interface_endpoints(spec.internet, endpoint_features, spec.endpoints)
        private = {zone_id: zone.private.ref for zone_id, zone in zip(self._zone_ids, self.zones, strict=True)}
        self.endpoints = Endpoints(
            self,
            "Endpoints",
            vpc_id=vpc_id,
            cidrs=self._cidrs,
            subnet_ids={
                name: [private[zone] for zone in zones]
                for name, zones in endpoint_zones(names, self._zone_ids, spec.without_endpoints).items()
            },
            route_table_ids=[zone.route_table.ref for zone in self.zones],
            name=self._name,
        )
        self._vpc, subnets = vpc_of_zones(self, vpc_id=vpc_id, cidr=spec.cidr, zones=self.zones)
        self._compute_subnets = MappingProxyType(dict(zip(self._zone_ids, subnets, strict=True)))
        allow_internet = spec.internet != InternetAccess.NONE
        if existing is not None and existing.security_group is not None:
            self._security_group = retained_group(
                self, "SecurityGroup", existing.security_group, allow_internet=allow_internet
            )
        else:
            self._own_group = self._security_group = EfaSecurityGroup(
                self, "SecurityGroup", vpc=self._vpc, allow_internet=allow_internet
            )
        self.flow_logs = FlowLogs(
            self,
            "FlowLogs",
            vpc_id=vpc_id,
            retention_days=spec.flow_log_days,
            encryption_key=key_of(self, "Key", existing and existing.encryption_key) or encryption_key,
            name=self._name,
        )
        self._book = AddressBook(
            subnet_cidrs=compute_subnet_cidrs(spec.compute_cidr, self._zone_ids),
            other_interfaces=other_interfaces(
                self._zone_ids, spec.internet, endpoint_features, spec.endpoints, spec.without_endpoints
            ),
            interface_quota=spec.interface_quota,
            region=region_of(self),
        )
        self.node.add_validation(self._book)

    @staticmethod
    def from_attributes(scope: Construct, id: str, existing: ExistingNetworkSpec) -> Network:
        """Return an existing network, given as CDK objects or by ids. See `ExistingNetwork`."""
        return ExistingNetwork(scope, id, existing)

    @property
    def internet(self) -> InternetAccess | None:
        """Whether its compute subnets have internet access."""
        return self._internet

    @property
    def connectivity(self) -> IDependable:
        """Routes and endpoints of its subnets."""
        return DependencyGroup(
            *(zone.compute_association for zone in self.zones),
            *(zone.public.association for zone in self.zones if zone.public),
            *self._routes,
            *(self._load_balancer_subnets.ways if self._load_balancer_subnets else ()),
            self.endpoints.s3,
            *self.endpoints.interfaces.values(),
        )

    @property
    def address_plan(self) -> AddressPlan:
        """The addresses of the compute subnets that are reserved so far."""
        return self._book.plan

    def database_subnets(self) -> list[ec2.ISubnet]:
        """Return two subnets for databases, created on the first call; see `DatabaseSubnets`."""
        if self._database_subnets is None:
            self._database_subnets = DatabaseSubnets(self, "Database", self._ground, zones=len(self.zones))
        return self._database_subnets.subnets

    def load_balancer_subnets(self, *, public: bool) -> Mapping[str, ec2.ISubnet]:
        """Return the subnets for load balancers, by AZ id; see `Network`. Raises `FleetError` (LF756)."""
        raise_problems(
            check_load_balancer_room(self._cidrs[0], others=1 if public else len(self.endpoints.interfaces)),
            subject=self.node.path,
        )
        inner = self._vpc.private_subnets or self._vpc.isolated_subnets
        own = self._vpc.public_subnets if public else inner[: len(self._zone_ids)]
        additional = self._load_balancer_subnets
        return MappingProxyType(
            {
                **dict(zip(self._zone_ids, own, strict=bool(own))),
                **((additional.public if public else additional.private) if additional else {}),
            }
        )

    @property
    def subnet_ids(self) -> tuple[str, ...]:
        """The ids of all its subnets, those for load balancers and databases too, if they are created already."""
        zones = [
            (zone.compute_id, zone.private.ref, *([zone.public.subnet_id] if zone.public else []))
            for zone in self.zones
        ]
        additional = self._load_balancer_subnets
        others = [
            *(additional.private.values() if additional else ()),
            *(additional.public.values() if additional else ()),
            *(self._database_subnets.subnets if self._database_subnets else ()),
        ]
        return (*(id for ids in zones for id in ids), *(subnet.subnet_id for subnet in others))

    def keep(self) -> None:
        """Keep, when the stack is deleted, everything that a retained file system or database uses. Idempotent.

        A retained file system keeps its network interfaces, and with them its subnet, security group and VPC: their
        deletion would fail, and the stack would be only partly deleted. Its port stays open to the retained group as
        well, so that nodes created later in this VPC can mount it. Gateways, endpoints and NAT are deleted, because
        they cost money.
        """
        made = (self.cfn_vpc, self.cfn_compute_block, *(zone.compute for zone in self.zones))
        for resource in filter(None, made):
            resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        super().keep()
        if self._database_subnets is not None:
            self._database_subnets.keep()

    def _make_zones(self, spec: NetworkSpec, vpc_id: str) -> None:
        existing = spec.existing
        internet_exit = (
            InternetExit(
                self,
                "Internet",
                vpc_id=vpc_id,
                name=self._name,
                internet_gateway_id=existing.internet_gateway if existing is not None else None,
            )
            if spec.internet != InternetAccess.NONE
            else None
        )
        self._ground = Ground(
            vpc_id=vpc_id,
            cidr=spec.cidr,
            compute_cidr=spec.compute_cidr,
            compute_block=self.cfn_compute_block,
            internet_exit=internet_exit,
            name=self._name,
            compute_subnet_ids=existing.subnets if existing is not None else {},
            database_subnet_ids=existing.database_subnets if existing is not None else (),
        )
        self.zones = make_zones(self, self._ground, availability_zone_ids=self._zone_ids)
        gateways, self._routes = add_internet_routes(self.zones, internet=spec.internet, internet_exit=internet_exit)
        self._load_balancer_subnets = (
            LoadBalancerSubnets(
                self,
                "LoadBalancers",
                self._ground,
                availability_zone_ids=spec.load_balancer_zone_ids,
                nat_gateway_id=gateways[0].ref if gateways else None,
            )
            if spec.load_balancer_zone_ids
            else None
        )
