"""Clusters in a stack of their own, beside a stack of what outlives them."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from llm_fleet import EfaSecurityGroup, FleetNetwork, HyperPodCluster, InstanceGroup, LustreFileSystem

GROUPS = [InstanceGroup.controller("ml.m5.xlarge"), InstanceGroup.workers("trn1", "ml.trn1.32xlarge", count=4)]


@pytest.fixture
def network(stack: cdk.Stack) -> FleetNetwork:
    return FleetNetwork(stack, "Network", availability_zone_ids=["usw2-az4"])


@pytest.fixture
def lustre(stack: cdk.Stack, network: FleetNetwork) -> LustreFileSystem:
    return LustreFileSystem(stack, "Fsx", network=network)


@pytest.fixture
def short_lived(app: cdk.App, stack: cdk.Stack) -> cdk.Stack:
    return cdk.Stack(
        app, "Cluster", env=cdk.Environment(account=stack.account, region=stack.region), stack_name="cluster"
    )


def test_clusters_depend_on_what_outlives_them_and_not_the_other_way_round(
    app: cdk.App, stack: cdk.Stack, short_lived: cdk.Stack, network: FleetNetwork, lustre: LustreFileSystem
) -> None:
    own = EfaSecurityGroup(short_lived, "Own", vpc=network.vpc)
    workers = InstanceGroup.workers("own", "ml.trn1.32xlarge", count=2, security_groups=[own])
    HyperPodCluster(short_lived, "Train", network=network, lustre=lustre, groups=[*GROUPS, workers])
    app.synth()
    assert [dependency.stack_name for dependency in short_lived.dependencies] == [stack.stack_name]
    assert not stack.dependencies
    rules = Template.from_stack(short_lived).find_resources("AWS::EC2::SecurityGroupIngress")
    ports = {rule["Properties"].get("FromPort") for rule in rules.values()}
    assert 988 in ports, "the rule that lets the own group reach Lustre stands beside the group"


def test_two_clusters_share_a_network_and_its_files(
    stack: cdk.Stack, network: FleetNetwork, lustre: LustreFileSystem
) -> None:
    for name in ("One", "Two"):
        HyperPodCluster(stack, name, network=network, lustre=lustre, groups=GROUPS)
    clusters = Template.from_stack(stack).find_resources("AWS::SageMaker::Cluster").values()
    assert len({cluster["Properties"]["ClusterName"] for cluster in clusters}) == 2


def test_two_clusters_share_the_rules_of_a_security_group(stack: cdk.Stack, network: FleetNetwork) -> None:
    """EC2 refuses a rule that is there already."""
    own = EfaSecurityGroup(stack, "Own", vpc=network.vpc)
    workers = InstanceGroup.workers("own", "ml.trn1.32xlarge", count=1, security_groups=[own])
    for name in ("One", "Two"):
        HyperPodCluster(stack, name, network=network, groups=[*GROUPS, workers])
    rules = Template.from_stack(stack).find_resources("AWS::EC2::SecurityGroupIngress")
    told = [str(rule["Properties"]) for rule in rules.values()]
    assert len(told) == len(set(told))


def test_a_stack_that_knows_neither_account_nor_region(app: cdk.App) -> None:
    anywhere = cdk.Stack(app, "Anywhere")
    network = FleetNetwork(anywhere, "Network", availability_zone_ids=["usw2-az4"])
    cluster = HyperPodCluster(anywhere, "Train", network=network, groups=GROUPS)
    cluster.grants.ssm_session(cluster)
    policies: Any = Template.from_stack(anywhere).find_resources("AWS::IAM::ManagedPolicy")
    assert "arn:aws:" not in str(policies), "ARNs name the partition by its token"
