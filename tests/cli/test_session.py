"""The node for submissions, from the state of the cluster in AWS."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from llm_fleet.cli.nodes.slurm_view import find_target
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.load import load_fleet
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import CommandCode
from tests.cli.refused import code_of
from tools.synth_environment import ROOT

ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/0123456789ab"


def fleet(name: str) -> Fleet:
    return load_fleet(ROOT / "examples" / f"{name}.yaml")


@contextmanager
def answers(
    monkeypatch: pytest.MonkeyPatch, service: str, *reported: tuple[str, dict[str, Any] | str]
) -> Generator[None]:
    """Let AWS respond with `reported`, by operation; a text is an error code."""
    client = boto3.client(service, region_name="us-west-2", aws_access_key_id="a", aws_secret_access_key="b")
    stubber = Stubber(client)
    for operation, answer in reported:
        if isinstance(answer, str):
            stubber.add_client_error(operation, answer)
        else:
            stubber.add_response(operation, answer)

    def make(*_: object, **__: object) -> object:
        return client

    monkeypatch.setattr(boto3, "client", make)
    with stubber:
        yield
        stubber.assert_no_pending_responses()


def node(group: str, number: int, status: str = "Running") -> dict[str, Any]:
    return {
        "InstanceGroupName": group,
        "InstanceId": f"i-{number:017x}",
        "InstanceType": "ml.m5.xlarge",
        "LaunchTime": datetime(2026, 11, 20, tzinfo=UTC),
        "InstanceStatus": {"Status": status},
    }


def described(*nodes: dict[str, Any]) -> tuple[tuple[str, dict[str, Any]], ...]:
    described: dict[str, Any] = {
        "ClusterArn": ARN,
        "ClusterStatus": "InService",
        "InstanceGroups": [],
    }
    return ("describe_cluster", described), ("list_cluster_nodes", {"ClusterNodeSummaries": list(nodes)})


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        ([node("controller", 1), node("trn1", 2), node("login", 3)], "login-i-00000000000000003"),
        ([node("login", 3, "Pending"), node("controller", 1), node("trn1", 2)], "controller-i-00000000000000001"),
    ],
)
def test_a_login_node_is_used_else_the_controller(
    monkeypatch: pytest.MonkeyPatch, nodes: list[dict[str, Any]], wanted: str
):
    cluster = fleet("hyperpod-closed-network").clusters["train"]
    with answers(monkeypatch, "sagemaker", *described(*nodes)):
        assert find_target(cluster, "us-west-2").ssm == f"sagemaker-cluster:0123456789ab_{wanted}"


def test_a_cluster_whose_controller_does_not_run_is_reported(monkeypatch: pytest.MonkeyPatch):
    cluster = fleet("hyperpod-closed-network").clusters["train"]
    nodes = [node("controller", 1, "SystemUpdating"), node("trn1", 2)]
    with answers(monkeypatch, "sagemaker", *described(*nodes)):
        code = code_of(lambda: find_target(cluster, "us-west-2"), match="controller is SystemUpdating")
    assert code is Code.JOBS_TARGET


def test_an_error_of_aws_is_reported(monkeypatch: pytest.MonkeyPatch):
    cluster = fleet("hyperpod-closed-network").clusters["train"]
    with answers(monkeypatch, "sagemaker", ("describe_cluster", "ResourceNotFound")):
        assert code_of(lambda: find_target(cluster, "us-west-2"), match="ResourceNotFound") is CommandCode.GONE


def test_of_two_head_nodes_that_of_the_new_cluster_is_used(monkeypatch: pytest.MonkeyPatch):
    instances = [{"InstanceId": f"i-{day}", "LaunchTime": datetime(2026, 11, day, tzinfo=UTC)} for day in (19, 20, 18)]
    shown = {"Reservations": [{"Instances": [one]} for one in instances]}
    cluster = fleet("parallelcluster-trn1").clusters["trn1"]
    with answers(monkeypatch, "ec2", ("describe_instances", shown)):
        assert find_target(cluster, "us-west-2").ssm == "i-20"


def test_a_cluster_that_is_not_deployed_is_reported(monkeypatch: pytest.MonkeyPatch):
    cluster = fleet("parallelcluster-trn1").clusters["trn1"]
    with answers(monkeypatch, "ec2", ("describe_instances", {"Reservations": []})):
        assert code_of(lambda: find_target(cluster, "us-west-2")) is Code.JOBS_TARGET
