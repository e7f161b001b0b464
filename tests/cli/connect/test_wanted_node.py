"""The node that is meant is found by whatever people call it; else the candidates are told."""

from dataclasses import replace

import pytest

from llm_fleet.cli.connect.connect import reached_node
from llm_fleet.cli.nodes.node import Listing, NodeRole
from llm_fleet.cli.nodes.wanted_node import wanted_node
from llm_fleet.cli.place import Kind, Place
from llm_fleet.rules.day_two.nodes_codes import NodesCode
from llm_fleet.rules.problem import FleetError
from tests.cli.nodes.made_nodes import listing, node

CONTROLLER = node("controller", role=NodeRole.CONTROLLER)
LOGINS = [node("login", 1, role=NodeRole.LOGIN, status="Failure"), node("login", 2, role=NodeRole.LOGIN)]
WORKERS = [node("trn1", number) for number in range(1, 11)]
CLUSTER = listing(CONTROLLER, *LOGINS, *WORKERS)
PLACE = Place(kind=Kind.HYPERPOD, name="ml-cluster", region="us-west-2")


@pytest.mark.parametrize(
    ("asked", "label"),
    [
        ("controller", "controller-1"),
        ("Controller", "controller-1"),
        ("trn1-3", "trn1-3"),
        (WORKERS[4].instance_id, "trn1-5"),
        (WORKERS[4].name, "trn1-5"),
        (f"{WORKERS[4].name}.us-west-2.compute.internal", "trn1-5"),
        (WORKERS[4].address, "trn1-5"),
        (None, "login-2"),
        ("login", "login-2"),  # The one that runs.
        ("login-1", "login-1"),
    ],
)
def test_a_node_answers_to_each_of_its_names(asked: str | None, label: str):
    assert wanted_node(CLUSTER, asked).label == label


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ("trn1", NodesCode.NODE_AMBIGUOUS, "10 nodes answer to it"),
        ("compute", NodesCode.NODE_AMBIGUOUS, "and 2 more; `llm-fleet nodes` shows all"),
        ("i-0000000000", NodesCode.NODE_AMBIGUOUS, "13 nodes answer to it"),
        ("trn1-11", NodesCode.NODE_UNKNOWN, "group trn1 has 10 nodes"),
        ("contoller", NodesCode.NODE_UNKNOWN, "write 'controller'"),
        ("i-0fffffffffffffff0", NodesCode.NODE_UNKNOWN, "a node that was replaced has a new one"),
        ("zzz", NodesCode.NODE_UNKNOWN, "name one of controller-1"),
    ],
)
def test_what_is_no_node_or_several_is_told(asked: str, code: NodesCode, words: str):
    with pytest.raises(FleetError) as caught:
        wanted_node(CLUSTER, asked)
    assert caught.value.problems[0].code is code
    assert words in str(caught.value)


def test_a_number_is_not_the_beginning_of_a_logical_id():
    nodes = listing(CONTROLLER, replace(WORKERS[0], logical_id="trn1-9abc1234"))
    assert code_of(nodes, "trn1-9")[0] is NodesCode.NODE_UNKNOWN
    assert wanted_node(nodes, "trn1-9abc1234").label == "trn1-1"


def code_of(nodes: Listing, asked: str | None, place: Place = PLACE) -> tuple[object, str]:
    with pytest.raises(FleetError) as caught:
        reached_node(nodes, asked, place, "us-west-2")
    return caught.value.problems[0].code, str(caught.value)


def test_a_node_that_does_not_run_is_told_with_what_aws_says():
    broken = node(status="Failure", message="lifecycle scripts did not run successfully")
    code, text = code_of(listing(broken), "trn1-1")
    assert code is NodesCode.NODE_NOT_RUNNING
    assert "trn1-1 is Failure: lifecycle scripts did not run successfully" in text


def test_a_cluster_where_nothing_runs_yet_is_told():
    pending = node("controller", role=NodeRole.CONTROLLER, status="Pending")
    code, text = code_of(listing(pending), None)
    assert code is NodesCode.NODE_NOT_RUNNING
    assert "controller-1 is Pending" in text
    for asked in ("controller", None):
        code, text = code_of(listing(), asked)
        assert code is NodesCode.NO_NODES
        assert "there is no node at all yet" in text


def test_a_task_that_lets_nobody_in_is_told():
    task = replace(node("task", role=NodeRole.TASK, status="RUNNING"), running=True)
    service = Place(kind=Kind.SERVICE, name="post-chat", region="us-west-2")
    code, text = code_of(listing(task), "task", service)
    assert code is NodesCode.NOT_REACHED
    assert "write `execute_command: true` for the service" in text
    assert reached_node(listing(replace(task, task_arn="arn")), "task-1", service, "us-west-2").task_arn == "arn"
