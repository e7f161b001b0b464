"""Clusters in a VPC of the user's own share security groups: deployed to a local emulation and destroyed."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_local.aws.client import LocalAws
from llm_fleet_local.aws.reachability import Place, Reachability
from tests.assembly.fleets import synthesize, text_of

pytestmark = pytest.mark.usefixtures("few_scripts")


class Ours:
    """A VPC with two subnets, and groups of nodes, of more nodes and of a database, which let everything out."""

    def __init__(self, aws: LocalAws) -> None:
        """Make it as a user would, without CloudFormation."""
        self.ec2: Any = aws.client("ec2")
        self.vpc = str(self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])
        self.subnets = [self._subnet(block) for block in ("10.0.0.0/20", "10.0.16.0/20")]
        table = self.ec2.create_route_table(VpcId=self.vpc)["RouteTable"]["RouteTableId"]
        for subnet in self.subnets:
            self.ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
        self.ec2.create_vpc_endpoint(
            VpcId=self.vpc, ServiceName="com.amazonaws.us-west-2.s3", VpcEndpointType="Gateway", RouteTableIds=[table]
        )
        self.nodes, self.own, self.database = (self._group(name) for name in ("nodes", "own", "database"))
        for group in (self.nodes, self.own):
            itself = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
            self.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=itself)
            self.ec2.authorize_security_group_egress(GroupId=group, IpPermissions=itself)

    def fleet(self, name: str) -> str:
        """Return a fleet of the table in this VPC."""
        ids = {
            "vpc-0123456789abcdef0": self.vpc,
            "subnet-0123456789abcdef0": self.subnets[0],
            "subnet-0123456789abcdef5": self.subnets[1],
            "sg-0123456789abcdef0": self.nodes,
            "sg-0123456789abcdef9": self.own,
            "sg-0123456789abcdef3": self.database,
        }
        text = text_of(name, {"termination_protection": False})
        for reported, made in ids.items():
            text = text.replace(reported, made)
        return text

    def rules(self) -> list[tuple[Any, ...]]:
        """Return all rules of the groups."""
        groups = [self.nodes, self.own, self.database]
        found = self.ec2.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": groups}])
        return sorted(
            (
                rule["GroupId"],
                rule["IsEgress"],
                rule["IpProtocol"],
                rule["FromPort"],
                rule.get("ReferencedGroupInfo", {}).get("GroupId") or rule.get("CidrIpv4"),
            )
            for rule in found["SecurityGroupRules"]
        )

    def _subnet(self, block: str) -> str:
        made = self.ec2.create_subnet(VpcId=self.vpc, CidrBlock=block, AvailabilityZoneId="usw2-az4")
        return str(made["Subnet"]["SubnetId"])

    def _group(self, name: str) -> str:
        return str(self.ec2.create_security_group(VpcId=self.vpc, GroupName=name, Description=name)["GroupId"])


@pytest.fixture
def aws() -> Generator[LocalAws]:
    with LocalAws(region="us-west-2") as aws:
        aws.bootstrap()
        yield aws


def test_two_clusters_share_groups_and_a_database(aws: LocalAws, tmp_path: Path) -> None:
    ours = Ours(aws)
    before = ours.rules()
    aws.client("secretsmanager").create_secret(Name="slurm", SecretString="{}")
    synthesize(ours.fleet("shared-groups-and-database-in-our-vpc"), tmp_path, account=aws.account)
    deployed = aws.deploy(tmp_path)
    assert deployed.succeeded, deployed
    reach = Reachability(ours.ec2)
    nodes, own = (Place(groups=(group,)) for group in (ours.nodes, ours.own))
    for node in (nodes, own):
        assert reach.port(node, Place(groups=(ours.database,)), 3306) == []
        assert reach.sends(node, Place(groups=()), 443), "what the user's groups let out stays as it is"
    assert reach.port(own, nodes, 6818) == reach.port(nodes, own, 6818) == []
    assert aws.destroy(tmp_path).succeeded
    assert ours.rules() == before
