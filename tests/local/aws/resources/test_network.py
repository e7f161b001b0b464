"""A complete network: EC2 returns each part as requested, and all parts can be deleted."""

from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import Created, ResourceFailed
from llm_fleet_local.aws.resources.moto_fixes.endpoint_services import take_endpoint_services
from llm_fleet_local.aws.resources.moto_fixes.service_quotas import give_quotas
from tests.local.aws.resources.support import ACCOUNT, REGION, Deployer, Network, trust


def one(found: dict[str, Any]) -> Any:
    """Return the only result of a Describe call."""
    lists: list[Any] = [value for name, value in found.items() if name != "ResponseMetadata"]
    return lists[0][0]


class Made:
    """Resources in the order of creation, to be deleted in reverse."""

    def __init__(self, deployer: Deployer) -> None:
        self._deployer = deployer
        self._all: list[tuple[str, Any, dict[str, Any]]] = []

    def make(self, kind: str, **properties: Any) -> Any:
        created = self._deployer.create(kind, **properties)
        self._all.append((kind, created, properties))
        return created

    def take_down(self) -> None:
        for kind, created, properties in reversed(self._all):
            assert self._deployer.provider.exists(kind, created.physical_id), kind
            self._deployer.delete(kind, created, **properties)
            assert not self._deployer.provider.exists(kind, created.physical_id), kind


def test_a_network_is_created_and_deleted(deployer: Deployer) -> None:
    ec2, made = deployer.client("ec2"), Made(deployer)
    vpc = made.make(
        "AWS::EC2::VPC",
        CidrBlock="10.0.0.0/16",
        EnableDnsHostnames="true",
        EnableDnsSupport=True,
        Tags=[{"Key": "Name", "Value": "fleet"}],
    ).physical_id
    names = ec2.describe_vpc_attribute(VpcId=vpc, Attribute="enableDnsHostnames")["EnableDnsHostnames"]
    assert names == {"Value": True}
    assert {"Key": "Name", "Value": "fleet"} in one(ec2.describe_vpcs(VpcIds=[vpc]))["Tags"]
    made.make("AWS::EC2::VPCCidrBlock", VpcId=vpc, CidrBlock="10.1.0.0/16")
    public = made.make(
        "AWS::EC2::Subnet", VpcId=vpc, CidrBlock="10.0.0.0/20", AvailabilityZone="us-west-2a", MapPublicIpOnLaunch=True
    ).physical_id
    compute = made.make("AWS::EC2::Subnet", VpcId=vpc, CidrBlock="10.1.0.0/18", AvailabilityZoneId="usw2-az2")
    assert compute.attributes["AvailabilityZoneId"] == "usw2-az2"
    assert one(ec2.describe_subnets(SubnetIds=[public]))["MapPublicIpOnLaunch"] is True
    gateway = made.make("AWS::EC2::InternetGateway").physical_id
    made.make("AWS::EC2::VPCGatewayAttachment", VpcId=vpc, InternetGatewayId=gateway)
    address = made.make("AWS::EC2::EIP", Domain="vpc")
    nat = made.make("AWS::EC2::NatGateway", SubnetId=public, AllocationId=address.attributes["AllocationId"])
    table = made.make("AWS::EC2::RouteTable", VpcId=vpc).physical_id
    made.make("AWS::EC2::Route", RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat.physical_id)
    made.make("AWS::EC2::SubnetRouteTableAssociation", RouteTableId=table, SubnetId=compute.physical_id)
    found = one(ec2.describe_route_tables(RouteTableIds=[table]))
    assert [one["SubnetId"] for one in found["Associations"]] == [compute.physical_id]
    assert {"0.0.0.0/0": nat.physical_id}.items() <= {
        route.get("DestinationCidrBlock"): route.get("NatGatewayId") for route in found["Routes"]
    }.items()
    made.take_down()
    assert not [found for found in ec2.describe_vpcs()["Vpcs"] if found["VpcId"] == vpc]


def test_endpoints_keep_policy_groups_and_tables(deployer: Deployer, network: Network) -> None:
    ec2 = deployer.client("ec2")
    tables = [deployer.create("AWS::EC2::RouteTable", VpcId=network.vpc).physical_id for _ in range(2)]
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "*"}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    requested: dict[str, Any] = {
        "VpcId": network.vpc,
        "ServiceName": "com.amazonaws.us-west-2.s3",
        "VpcEndpointType": "Gateway",
        "RouteTableIds": tables[:1],
        "PolicyDocument": document,
    }
    gateway = deployer.create("AWS::EC2::VPCEndpoint", **requested)
    deployer.update("AWS::EC2::VPCEndpoint", gateway, requested, requested | {"RouteTableIds": tables})
    found = one(ec2.describe_vpc_endpoints(VpcEndpointIds=[gateway.physical_id]))
    assert found["RouteTableIds"] == tables
    assert '"s3:*"' in found["PolicyDocument"]

    requested = {
        "VpcId": network.vpc,
        "ServiceName": "com.amazonaws.us-west-2.ssm",
        "VpcEndpointType": "Interface",
        "SubnetIds": [network.subnet],
        "SecurityGroupIds": [network.group],
        "PrivateDnsEnabled": True,
    }
    with pytest.raises(ResourceFailed, match="requires both enableDnsSupport and enableDnsHostnames"):
        deployer.create("AWS::EC2::VPCEndpoint", **requested)
    ec2.modify_vpc_attribute(VpcId=network.vpc, EnableDnsHostnames={"Value": True})
    interface = deployer.create("AWS::EC2::VPCEndpoint", **requested)
    found = one(ec2.describe_vpc_endpoints(VpcEndpointIds=[interface.physical_id]))
    assert found["PrivateDnsEnabled"] is True
    assert [group["GroupId"] for group in found["Groups"]] == [network.group]
    [eni] = interface.attributes["NetworkInterfaceIds"]
    groups = one(ec2.describe_network_interfaces(NetworkInterfaceIds=[eni]))["Groups"]
    assert [group["GroupId"] for group in groups] == [network.group]
    with pytest.raises(ResourceFailed, match=r"DependencyViolation.*VPC Endpoint Interface"):
        deployer.delete("AWS::EC2::Subnet", network.subnet_created)
    _an_endpoint_moves(deployer, network, interface, requested)


def _an_endpoint_moves(deployer: Deployer, network: Network, interface: Created, requested: dict[str, Any]) -> None:
    """An endpoint has an interface in each of its subnets, and in no other."""
    ec2 = deployer.client("ec2")
    block = ec2.describe_subnets(SubnetIds=[network.subnet])["Subnets"][0]["CidrBlock"]
    with pytest.raises(ResourceFailed, match=r"InvalidSubnet\.Conflict"):
        deployer.create("AWS::EC2::Subnet", VpcId=network.vpc, CidrBlock=block)
    other = ec2.create_subnet(VpcId=network.vpc, CidrBlock="10.0.200.0/24")["Subnet"]["SubnetId"]
    deployer.update("AWS::EC2::VPCEndpoint", interface, requested, requested | {"SubnetIds": [other]})
    [eni] = one(ec2.describe_vpc_endpoints(VpcEndpointIds=[interface.physical_id]))["NetworkInterfaceIds"]
    found = one(ec2.describe_network_interfaces(NetworkInterfaceIds=[eni]))
    assert (found["SubnetId"], [group["GroupId"] for group in found["Groups"]]) == (other, [network.group])
    deployer.delete("AWS::EC2::Subnet", network.subnet_created)


def test_an_endpoint_in_an_az_without_the_service_is_rejected(deployer: Deployer, network: Network) -> None:
    zone = one(deployer.client("ec2").describe_subnets(SubnetIds=[network.subnet]))["AvailabilityZoneId"]
    requested: dict[str, Any] = {
        "VpcId": network.vpc,
        "ServiceName": "com.amazonaws.us-west-2.sqs",
        "VpcEndpointType": "Interface",
        "SecurityGroupIds": [network.group],
    }
    account = deployer.client("sts").get_caller_identity()["Account"]
    take_endpoint_services(account, "us-west-2", {zone: ["sqs"]})
    rejected = r"com.amazonaws.us-west-2.sqs does not support the availability zone of the subnet: subnet-"
    try:
        with pytest.raises(ResourceFailed, match=rejected):
            deployer.create("AWS::EC2::VPCEndpoint", **requested, SubnetIds=[network.subnet])
        other = deployer.create("AWS::EC2::VPCEndpoint", **requested, SubnetIds=[])
        with pytest.raises(ResourceFailed, match=rejected):
            deployer.update("AWS::EC2::VPCEndpoint", other, requested, {**requested, "SubnetIds": [network.subnet]})
    finally:
        take_endpoint_services(account, "us-west-2", {})


def test_rules_inside_a_group_are_added_and_removed(deployer: Deployer, network: Network) -> None:
    ssh = {"IpProtocol": "tcp", "FromPort": "22", "ToPort": "22", "CidrIp": "10.0.0.0/8", "Description": "ssh"}
    nfs = {"IpProtocol": "tcp", "FromPort": 2049, "ToPort": 2049, "SourceSecurityGroupId": network.group}
    old: dict[str, Any] = {
        "GroupDescription": "d",
        "VpcId": network.vpc,
        "SecurityGroupIngress": [ssh],
        "SecurityGroupEgress": [],
    }
    kind = "AWS::EC2::SecurityGroup"
    created = deployer.create(kind, **old)
    deployer.update(kind, created, old, old | {"SecurityGroupIngress": [nfs]})
    found = one(deployer.client("ec2").describe_security_groups(GroupIds=[created.physical_id]))
    assert [(rule["FromPort"], rule["UserIdGroupPairs"][0]["GroupId"]) for rule in found["IpPermissions"]] == [
        (2049, network.group)
    ]
    assert [rule["IpRanges"][0]["CidrIp"] for rule in found["IpPermissionsEgress"]] == ["0.0.0.0/0"]


def test_own_egress_rules_replace_the_default_rule(deployer: Deployer, network: Network) -> None:
    nowhere = {"IpProtocol": "icmp", "FromPort": 252, "ToPort": 86, "CidrIp": "255.255.255.255/32"}
    created = deployer.create(
        "AWS::EC2::SecurityGroup", GroupDescription="d", VpcId=network.vpc, SecurityGroupEgress=[nowhere]
    )
    found = one(deployer.client("ec2").describe_security_groups(GroupIds=[created.physical_id]))
    assert [rule["IpProtocol"] for rule in found["IpPermissionsEgress"]] == ["icmp"]


def test_a_group_in_the_rules_of_another_group_cannot_be_deleted(deployer: Deployer, network: Network) -> None:
    other = deployer.create("AWS::EC2::SecurityGroup", GroupDescription="other", VpcId=network.vpc)
    deployer.create(
        "AWS::EC2::SecurityGroupIngress",
        GroupId=network.group,
        IpProtocol="tcp",
        FromPort=22,
        ToPort=22,
        SourceSecurityGroupId=other.physical_id,
    )
    with pytest.raises(ResourceFailed, match=r"DependencyViolation.*a rule of " + network.group):
        deployer.delete("AWS::EC2::SecurityGroup", other)


def test_flow_logs_are_kept(deployer: Deployer, network: Network) -> None:
    deployer.create("AWS::Logs::LogGroup", LogGroupName="/flow")
    role = deployer.create("AWS::IAM::Role", AssumeRolePolicyDocument=trust("vpc-flow-logs.amazonaws.com"))
    requested: dict[str, Any] = {
        "ResourceId": network.vpc,
        "ResourceType": "VPC",
        "TrafficType": "ALL",
        "LogGroupName": "/flow",
        "LogDestinationType": "cloud-watch-logs",
        "DeliverLogsPermissionArn": role.attributes["Arn"],
        "MaxAggregationInterval": 60,
    }
    created = deployer.create("AWS::EC2::FlowLog", **requested)
    found = one(deployer.client("ec2").describe_flow_logs(FlowLogIds=[created.physical_id]))
    for name in ("ResourceId", "TrafficType", "LogGroupName", "DeliverLogsPermissionArn", "MaxAggregationInterval"):
        assert found[name] == requested[name], name


@pytest.mark.parametrize(
    ("side", "peer", "ports", "words"),
    [
        ("Ingress", "SourceSecurityGroupId", {}, "ALL"),
        ("Egress", "DestinationSecurityGroupId", {}, "ALL"),
        ("Ingress", "SourceSecurityGroupId", {"FromPort": 988, "ToPort": 989}, "TCP, from port: 988, to port: 989"),
        ("Egress", "CidrIp", {"FromPort": 443, "ToPort": 443}, "TCP, from port: 443, to port: 443"),
    ],
)
def test_a_rule_that_exists_is_rejected(
    deployer: Deployer, network: Network, side: str, peer: str, ports: dict[str, int], words: str
) -> None:
    kind = f"AWS::EC2::SecurityGroup{side}"
    whom = (
        "10.0.0.0/8"
        if peer == "CidrIp"
        else str(deployer.create("AWS::EC2::SecurityGroup", GroupDescription="other", VpcId=network.vpc).physical_id)
    )
    rule: dict[str, Any] = {"GroupId": network.group, peer: whom, "IpProtocol": "tcp" if ports else "-1", **ports}
    made = deployer.create(kind, **rule, Description="of one stack")
    with pytest.raises(ResourceFailed, match=r"InvalidPermission\.Duplicate") as rejected:
        deployer.create(kind, **rule, Description="of another stack")
    assert f'the specified rule "peer: {whom}, {words}, ALLOW" already exists' in str(rejected.value)
    assert deployer.provider.exists(kind, str(made.physical_id)), "the rejected one takes nothing with it"
    rule |= {"IpProtocol": "udp", "FromPort": 1, "ToPort": 2}
    deployer.create(kind, **rule)


def test_rules_of_addresses_are_distinguished(deployer: Deployer, network: Network) -> None:
    rule: dict[str, Any] = {"GroupId": network.group, "IpProtocol": "-1"}
    for peer in ({"CidrIp": "10.0.0.0/8"}, {"CidrIp": "10.0.0.0/9"}, {"CidrIpv6": "::/0"}):
        deployer.create("AWS::EC2::SecurityGroupIngress", **rule, **peer)


def test_a_separate_egress_rule_removes_the_rule_for_all_traffic(deployer: Deployer, network: Network) -> None:
    """Independent of who created the rule: EC2, a user or another stack."""
    ec2 = deployer.client("ec2")
    kind = "AWS::EC2::SecurityGroupEgress"
    rule: dict[str, Any] = {"GroupId": network.group, "IpProtocol": "-1"}

    def addresses() -> list[str]:
        (group,) = ec2.describe_security_groups(GroupIds=[network.group])["SecurityGroups"]
        return sorted(one["CidrIp"] for rule in group["IpPermissionsEgress"] for one in rule["IpRanges"])

    assert addresses() == [], "the rule to the group itself has taken it"
    deployer.create(kind, **rule, CidrIp="0.0.0.0/0")
    assert addresses() == ["0.0.0.0/0"]
    for half in ("0.0.0.0/1", "128.0.0.0/1"):
        deployer.create(kind, **rule, CidrIp=half)
    assert addresses() == ["0.0.0.0/1", "128.0.0.0/1"], "which nothing takes for the default"
    rule |= {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2}
    deployer.create(kind, **rule, CidrIp="10.0.0.0/8")
    assert addresses() == ["0.0.0.0/1", "10.0.0.0/8", "128.0.0.0/1"]


def test_elastic_ip_addresses_end_at_the_quota(deployer: Deployer) -> None:
    """AWS's default is five in a Region; a released address can be allocated again, and the quota can be increased."""
    made, name = Made(deployer), "EC2-VPC Elastic IPs"
    for _ in range(5 - len(deployer.client("ec2").describe_addresses()["Addresses"])):
        made.make("AWS::EC2::EIP", Domain="vpc")
    with pytest.raises(
        ResourceFailed, match=r"AddressLimitExceeded.*The maximum number of addresses has been reached\."
    ):
        deployer.create("AWS::EC2::EIP", Domain="vpc")
    give_quotas(ACCOUNT, REGION, {"ec2": {name: 6}})
    made.make("AWS::EC2::EIP", Domain="vpc")
    give_quotas(ACCOUNT, REGION, {"ec2": {name: 5}})
    made.take_down()
    deployer.delete("AWS::EC2::EIP", deployer.create("AWS::EC2::EIP", Domain="vpc"), Domain="vpc")
