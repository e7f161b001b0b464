"""Nodes of each kind of place, from responses of AWS in the shapes of its models."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from botocore.stub import Stubber

from llm_fleet.cli.clients import AwsClients
from llm_fleet.cli.nodes.list_nodes import listing_of
from llm_fleet.cli.nodes.node import Listing, NodeRole
from llm_fleet.cli.nodes.nodes_table import NodesView, look, summary
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.screen import Screen
from llm_fleet.rules.feature_codes import CommandCode, NodesCode
from llm_fleet.rules.problem import Problem
from tests.cli.canned_account import CannedAccount
from tests.cli.nodes.made_nodes import hyperpod_answers
from tests.cli.refused import code_of, refused
from tests.pains.reported import reported

LAUNCHED = datetime(2026, 11, 20, tzinfo=UTC)
HYPERPOD = Place(kind=Kind.HYPERPOD, name="ml-cluster", region="us-west-2")
PARALLEL = Place(kind=Kind.PARALLELCLUSTER, name="post-trn1", region="us-west-2")
SERVICE = Place(kind=Kind.SERVICE, name="post-chat", region="us-west-2")
ECS = "arn:aws:ecs:us-west-2:111122223333"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not checked."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")


def instance(
    number: int, *, state: str = "running", cluster: str = "post-trn1-0a1b2c3d", **tags: str
) -> dict[str, Any]:
    pairs = {"cluster-name": cluster, **{key.replace("_", "-"): value for key, value in tags.items()}}
    return {
        "InstanceId": f"i-{number:017x}",
        "InstanceType": "trn1.32xlarge",
        "LaunchTime": LAUNCHED.replace(minute=number),
        "PrivateIpAddress": f"10.1.0.{number}",
        "Placement": {"AvailabilityZone": "us-west-2d"},
        "State": {"Name": state},
        "StateReason": {"Message": "Server.InsufficientInstanceCapacity"} if state == "stopped" else {},
        "Tags": [{"Key": f"parallelcluster:{key}", "Value": value} for key, value in pairs.items()],
    }


def stubbed(service: str, *answers: tuple[str, dict[str, Any]]) -> tuple[AwsClients, Stubber]:
    clients = AwsClients(region="us-west-2")
    stubber = Stubber(clients.client(service))
    for operation, answer in answers:
        stubber.add_response(operation, answer)
    stubber.activate()
    return clients, stubber


def test_nodes_of_parallelcluster_are_found_by_tags():
    found = [
        instance(3, node_type="Compute", queue_name="trn1"),
        instance(2, node_type="Compute", queue_name="trn1", state="stopped"),
        instance(1, node_type="HeadNode"),
        instance(4, node_type="LoginNode", login_nodes_pool="people"),
        # A node of the cluster that the new one replaces.
        instance(0, node_type="HeadNode", cluster="post-trn1-99999999"),
    ]
    clients, _ = stubbed("ec2", ("describe_instances", {"Reservations": [{"Instances": [one]} for one in found]}))
    listing = listing_of(clients, PARALLEL)
    assert listing.name == "post-trn1-0a1b2c3d"
    assert [(one.label, one.role, one.target, one.zone) for one in listing.nodes] == [
        ("head-1", NodeRole.HEAD, "i-00000000000000001", "us-west-2d"),
        ("people-1", NodeRole.LOGIN, "i-00000000000000004", "us-west-2d"),
        ("trn1-1", NodeRole.COMPUTE, None, "us-west-2d"),
        ("trn1-2", NodeRole.COMPUTE, "i-00000000000000003", "us-west-2d"),
    ]
    assert listing.nodes[2].message == "Server.InsufficientInstanceCapacity"


def test_a_cluster_without_instances_is_reported():
    clients, _ = stubbed("ec2", ("describe_instances", {"Reservations": []}))
    error = refused(lambda: listing_of(clients, PARALLEL), match="the cluster has no instances in this Region")
    (problem,) = error.problems
    assert problem.code is NodesCode.NO_NODES
    # The settings of the AWS CLI may have another Region.
    assert "`aws ec2 describe-instances --region us-west-2 " in problem.remedy


def test_a_service_has_hosts_and_tasks():
    host = f"{ECS}:container-instance/post-chat/0a"
    task = f"{ECS}:task/post-chat/0123456789abcdef"
    clients, ecs = stubbed(
        "ecs",
        ("describe_services", {"services": [service(running=1, desired=2)]}),
        ("list_container_instances", {"containerInstanceArns": [host]}),
        ("describe_container_instances", {"containerInstances": [container_instance(host)]}),
        ("list_tasks", {"taskArns": [task]}),
        ("describe_tasks", {"tasks": [running_task(task, host)]}),
    )
    with Stubber(clients.ec2) as ec2:
        ec2.add_response("describe_instances", {"Reservations": [{"Instances": [cast("Any", instance(7))]}]})
        listing = listing_of(clients, SERVICE)
    ecs.assert_no_pending_responses()
    first, second = listing.nodes
    assert (first.label, first.target, first.address) == ("host-1", "i-00000000000000007", "10.1.0.7")
    assert (second.label, second.instance_id, second.task_arn) == ("task-1", first.instance_id, task)
    assert second.address == "10.1.0.99"
    lines = summary(listing, look(listing, None).rows)
    assert "group task has 1 of 2 nodes" in lines
    assert "status in AWS: ACTIVE: was unable to place a task" in lines


@pytest.mark.parametrize("reported_of", [[], [{"status": "INACTIVE", "runningCount": 0, "desiredCount": 0}]])
def test_a_missing_service_is_reported_and_not_shown_as_empty(reported_of: list[dict[str, Any]]):
    # ECS does not list the tasks of a service that does not exist: this call has no stub.
    clients, _ = stubbed(
        "ecs",
        ("describe_services", {"services": reported_of}),
        ("list_container_instances", {"containerInstanceArns": []}),
    )
    gone = "the service does not exist"
    assert code_of(lambda: listing_of(clients, SERVICE), match=gone) is CommandCode.GONE


def test_without_slurm_the_remedy_names_the_option():
    problems = [
        Problem(code=NodesCode.SLURM_SILENT, message="no plugin", remedy="install it"),
        Problem(code=NodesCode.SLURM_SILENT, message="no answer", remedy="see why, or leave Slurm out with --no-slurm"),
    ]
    monitoring = NodesView(listing=Listing(nodes=[], name="c"), rows=[], unseen=problems)
    lines = monitoring.text(Screen(width=None, color=False, live=False)).splitlines()
    assert "Slurm is not in the table: no plugin; install it, or leave Slurm out with --no-slurm" in lines
    assert "Slurm is not in the table: no answer; see why, or leave Slurm out with --no-slurm" in lines


def service(*, running: int, desired: int) -> dict[str, Any]:
    events = [{"message": "was unable to place a task"}]
    return {"status": "ACTIVE", "runningCount": running, "desiredCount": desired, "events": events}


def container_instance(arn: str) -> dict[str, Any]:
    reported_of = {"containerInstanceArn": arn, "ec2InstanceId": "i-00000000000000007", "status": "ACTIVE"}
    return reported_of | {"agentConnected": True, "attributes": [{"name": "ecs.instance-type", "value": "inf2.xlarge"}]}


def running_task(arn: str, host: str) -> dict[str, Any]:
    details = [{"name": "privateIPv4Address", "value": "10.1.0.99"}]
    return {
        "taskArn": arn,
        "containerInstanceArn": host,
        "lastStatus": "RUNNING",
        "enableExecuteCommand": True,
        "attachments": [{"type": "ElasticNetworkInterface", "details": details}],
    }


def test_a_cluster_with_eks_is_listed_without_a_query_of_slurm(monkeypatch: pytest.MonkeyPatch):
    eks = {"Orchestrator": {"Eks": {"ClusterArn": "arn:aws:eks:us-west-2:111122223333:cluster/ml"}}}
    CannedAccount(hyperpod_answers(2, **eks)).lives(monkeypatch)
    listing = listing_of(AwsClients(region="us-west-2"), HYPERPOD)

    def never(_: object) -> Any:
        raise AssertionError("Slurm was queried")

    monitoring = look(listing, never)
    lines = summary(listing, monitoring.rows)
    assert "ml-cluster: 3 nodes: 3 Running" in lines
    reported(22, "\n".join(lines), "this cluster uses EKS, not Slurm")
    assert not monitoring.unseen


def test_groups_with_missing_nodes_are_reported(monkeypatch: pytest.MonkeyPatch):
    groups = [{"InstanceGroupName": "trn1", "CurrentCount": 3, "TargetCount": 4}]
    CannedAccount(hyperpod_answers(3, InstanceGroups=groups)).lives(monkeypatch)
    listing = listing_of(AwsClients(region="us-west-2"), HYPERPOD)
    text = "\n".join(summary(listing, look(listing, None).rows))
    reported(13, text, "group trn1 has 3 of 4 nodes")
    reported(24, text, "group trn1 has 3 of 4 nodes")


def test_nodes_with_the_target_image_are_not_the_target_count(monkeypatch: pytest.MonkeyPatch):
    groups = [{"InstanceGroupName": "trn1", "CurrentCount": 3, "TargetStateCount": 1}]
    CannedAccount(hyperpod_answers(3, InstanceGroups=groups)).lives(monkeypatch)
    assert listing_of(AwsClients(region="us-west-2"), HYPERPOD).counts == ()


def test_the_role_of_a_group_is_from_aws_else_the_file_else_its_name(monkeypatch: pytest.MonkeyPatch):
    groups = [
        {"InstanceGroupName": "controller", "SlurmConfig": {"NodeType": "Login"}},
        {"InstanceGroupName": "trn1"},
    ]
    CannedAccount(hyperpod_answers(1, InstanceGroups=groups)).lives(monkeypatch)
    first, second = listing_of(
        AwsClients(region="us-west-2"), HYPERPOD, roles={"trn1": NodeRole.COMPUTE, "controller": NodeRole.HEAD}
    ).nodes
    assert (first.role, second.role) == (NodeRole.LOGIN, NodeRole.COMPUTE)
    assert (second.name, second.address) == ("ip-10-1-0-1", "10.1.0.1")
    assert second.target == "sagemaker-cluster:0123456789ab_trn1-i-00000000000000001"
