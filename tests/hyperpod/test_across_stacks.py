"""Clusters in their own stack, with another stack for the network and file systems."""

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from llm_fleet import (
    AccountingDatabase,
    EfaSecurityGroup,
    ExistingNetworkSpec,
    FleetNetwork,
    HyperPodCluster,
    HyperPodClusterSpec,
    InstanceGroup,
    LustreFileSystem,
    NetworkSpec,
)
from llm_fleet.network.security_group import rule_description
from tests.assembly.assembly import Assembly
from tests.assembly.checks import rules_twice

GROUPS = [InstanceGroup.controller("ml.m5.xlarge"), InstanceGroup.workers("trn1", "ml.trn1.32xlarge", count=4)]


@pytest.fixture
def network(stack: cdk.Stack) -> FleetNetwork:
    return FleetNetwork(stack, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))


@pytest.fixture
def lustre(stack: cdk.Stack, network: FleetNetwork) -> LustreFileSystem:
    return LustreFileSystem(stack, "Fsx", network=network)


@pytest.fixture
def short_lived(app: cdk.App, stack: cdk.Stack) -> cdk.Stack:
    return cdk.Stack(
        app, "Cluster", env=cdk.Environment(account=stack.account, region=stack.region), stack_name="cluster"
    )


def test_the_stack_of_clusters_depends_on_the_lasting_stack_and_not_vice_versa(
    app: cdk.App, stack: cdk.Stack, short_lived: cdk.Stack, network: FleetNetwork, lustre: LustreFileSystem
) -> None:
    own = EfaSecurityGroup(short_lived, "Own", vpc=network.vpc)
    workers = InstanceGroup.workers("own", "ml.trn1.32xlarge", count=2, security_groups=[own])
    HyperPodCluster(
        short_lived, "Train", HyperPodClusterSpec(groups=[*GROUPS, workers]), network=network, lustre=lustre
    )
    app.synth()
    assert [dependency.stack_name for dependency in short_lived.dependencies] == [stack.stack_name]
    assert not stack.dependencies
    rules = Template.from_stack(short_lived).find_resources("AWS::EC2::SecurityGroupIngress")
    ports = {rule["Properties"].get("FromPort") for rule in rules.values()}
    assert 988 in ports, "the rule for access to Lustre is in the stack of the security group"


def test_two_clusters_share_a_network_and_its_files(
    stack: cdk.Stack, network: FleetNetwork, lustre: LustreFileSystem
) -> None:
    for name in ("One", "Two"):
        HyperPodCluster(stack, name, HyperPodClusterSpec(groups=GROUPS), network=network, lustre=lustre)
    clusters = Template.from_stack(stack).find_resources("AWS::SageMaker::Cluster").values()
    assert len({cluster["Properties"]["ClusterName"] for cluster in clusters}) == 2


def test_two_clusters_share_one_rule_of_a_security_group(stack: cdk.Stack, network: FleetNetwork) -> None:
    """EC2 rejects a rule that already exists."""
    own = EfaSecurityGroup(stack, "Own", vpc=network.vpc)
    workers = InstanceGroup.workers("own", "ml.trn1.32xlarge", count=1, security_groups=[own])
    for name in ("One", "Two"):
        HyperPodCluster(stack, name, HyperPodClusterSpec(groups=[*GROUPS, workers]), network=network)
    rules = Template.from_stack(stack).find_resources("AWS::EC2::SecurityGroupIngress")
    properties = [str(rule["Properties"]) for rule in rules.values()]
    assert len(properties) == len(set(properties))


def test_a_stack_without_account_and_region(app: cdk.App) -> None:
    anywhere = cdk.Stack(app, "Anywhere")
    network = FleetNetwork(anywhere, "Network", NetworkSpec(availability_zone_ids=["usw2-az4"]))
    cluster = HyperPodCluster(anywhere, "Train", HyperPodClusterSpec(groups=GROUPS), network=network)
    cluster.grants.ssm_session(cluster)
    policies: Any = Template.from_stack(anywhere).find_resources("AWS::IAM::ManagedPolicy")
    assert "arn:aws:" not in str(policies), "ARNs name the partition by its token"


def test_a_database_allows_a_group_of_the_clusters_own_stack(
    app: cdk.App, stack: cdk.Stack, short_lived: cdk.Stack, network: FleetNetwork
) -> None:
    own = EfaSecurityGroup(short_lived, "Own", vpc=network.vpc)
    guard = ec2.SecurityGroup(stack, "Guard", vpc=network.vpc)
    database = AccountingDatabase(
        endpoint="slurm.example.com", secret=secretsmanager.Secret(stack, "Secret"), connections=guard
    )
    workers = InstanceGroup.workers("own", "ml.trn1.32xlarge", count=1, security_groups=[own])
    HyperPodCluster(
        short_lived,
        "Train",
        HyperPodClusterSpec(groups=[*GROUPS, workers], accounting_database=database),
        network=network,
    )
    app.synth()
    assert not stack.dependencies
    for where in (stack, short_lived):
        rules = Template.from_stack(where).find_resources("AWS::EC2::SecurityGroupIngress").values()
        descriptions = [
            rule["Properties"]["Description"] for rule in rules if rule["Properties"].get("FromPort") == 3306
        ]
        assert descriptions == ["slurmdbd on the controller of a cluster"]
        assert descriptions == list(map(rule_description, descriptions)), "EC2 rejects other characters"


def test_a_group_that_is_imported_twice_has_one_rule(app: cdk.App, stack: cdk.Stack, network: FleetNetwork) -> None:
    """EC2 rejects a rule that already exists, even for another construct or cluster."""
    places = [
        cdk.Stack(app, name, env=cdk.Environment(account=stack.account, region=stack.region)) for name in ("One", "Two")
    ]
    for where in places:
        groups = [
            InstanceGroup.workers(
                f"own{number}",
                "ml.trn1.32xlarge",
                count=1,
                security_groups=[
                    ec2.SecurityGroup.from_security_group_id(where, f"Own{number}", "sg-0123456789abcdef0")
                ],
            )
            for number in (1, 2)
        ]
        cluster = HyperPodCluster(where, "Train", HyperPodClusterSpec(groups=[*GROUPS, *groups]), network=network)
        assert len(cluster.connections.security_groups) == 2
    for where in places:
        assert not Template.from_stack(where).find_resources("AWS::EC2::SecurityGroupIngress")
    rules = Template.from_stack(stack).find_resources("AWS::EC2::SecurityGroupIngress").values()
    assert len([rule for rule in rules if rule["Properties"]["Description"] == "nodes of one cluster"]) == 2


def test_clusters_of_two_stacks_share_an_imported_group_in_a_network_that_is_imported_twice(
    app: cdk.App, stack: cdk.Stack
) -> None:
    """The rules are in the stack that imports the shared groups, as the docs say."""
    shared, guard = (
        ec2.SecurityGroup.from_security_group_id(stack, name, f"sg-0123456789abcdef{digit}")
        for name, digit in (("Shared", 9), ("Guard", 3))
    )
    secret = secretsmanager.Secret(stack, "Secret")
    for name in ("One", "Two"):
        where = cdk.Stack(app, name, env=cdk.Environment(account=stack.account, region=stack.region))
        network = FleetNetwork.from_attributes(
            where,
            "Network",
            ExistingNetworkSpec(
                vpc="vpc-0123456789abcdef0",
                subnets={"usw2-az4": "subnet-0123456789abcdef0"},
                security_group="sg-0123456789abcdef0",
            ),
        )
        workers = InstanceGroup.workers("own", "ml.trn1.32xlarge", count=1, security_groups=[shared])
        database = AccountingDatabase(endpoint="slurm.example.com", secret=secret, connections=guard)
        HyperPodCluster(
            where,
            "Train",
            HyperPodClusterSpec(groups=[*GROUPS, workers], accounting_database=database),
            network=network,
        )
    assert rules_twice(Assembly.read(Path(app.synth().directory))) == []
    assert len(Template.from_stack(stack).find_resources("AWS::EC2::SecurityGroupIngress")) == 4


def test_instance_groups_with_their_own_security_groups_can_reach_each_other(
    app: cdk.App, stack: cdk.Stack, network: FleetNetwork
) -> None:
    """As the docstring of `security_groups` says: a group with its own security group can reach all other nodes."""
    groups = [EfaSecurityGroup(stack, name, vpc=network.vpc) for name in ("OwnOne", "OwnTwo")]
    workers = [
        InstanceGroup.workers(f"own{number}", "ml.trn1.32xlarge", count=1, security_groups=[group])
        for number, group in enumerate(groups)
    ]
    HyperPodCluster(stack, "Train", HyperPodClusterSpec(groups=[*GROUPS, *workers]), network=network)
    one, two = (stack.resolve(group.security_group_id) for group in groups)
    template = Template.from_stack(stack)
    for here, there in ((one, two), (two, one)):
        rule = {"GroupId": here, "SourceSecurityGroupId": there, "IpProtocol": "-1"}
        template.has_resource_properties("AWS::EC2::SecurityGroupIngress", rule)
    assert rules_twice(Assembly.read(Path(app.synth().directory))) == []
