from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_cluster, check_tags
from llm_fleet.rules.terms import SlurmConfigStrategy
from tests.rules.hyperpod.findings import only
from tests.rules.hyperpod.shapes import CONTROLLER, LOGIN, WORKERS, changed, cluster, cluster_with


@pytest.mark.parametrize(
    ("name", "in_message", "mended"),
    [
        ("ml_cluster", "holds an underscore", "ml-cluster"),
        ("ml cluster.2", "holds a space, a dot", "ml-cluster-2"),
        ("-ml-cluster", "begins or ends with a hyphen", "ml-cluster"),
        ("ml-cluster-", "begins or ends with a hyphen", "ml-cluster"),
        ("a" * 64, "is 64 characters long, 1 too many", "a" * 63),
        ("klüster", "holds 'ü'", "kl-ster"),
        ("", "is empty", None),
        ("___", "holds an underscore", None),
        ("ml-cluster\n", "holds '\\n'", "ml-cluster"),
    ],
)
def test_cluster_name(name: str, in_message: str, mended: str | None):
    problem = only(check_cluster(cluster(cluster_name=name)), Code.CLUSTER_NAME, "cluster_name")
    assert in_message in problem.message
    assert problem.remedy == (f"write {mended!r}" if mended else "give the cluster name a letter or a digit")
    if mended:
        assert check_cluster(cluster(cluster_name=mended)) == []


@pytest.mark.parametrize("name", ["a", "A1", "a--b", "9", "a" * 63])
def test_good_names(name: str):
    assert check_cluster(cluster(cluster_name=name)) == []


def test_all_faults_of_a_name_are_one_problem():
    problem = only(check_cluster(cluster(cluster_name="_" * 64)), Code.CLUSTER_NAME, "cluster_name")
    assert "64 characters long" in problem.message
    assert "underscore" in problem.message


def test_group_name_with_underscore():
    found = check_cluster(cluster_with(name="worker_group"))
    problem = only(found, Code.GROUP_NAME, "groups", "worker_group", "name")
    assert problem.remedy == "write 'worker-group'"


def test_two_groups_of_one_name():
    found = check_cluster(cluster(CONTROLLER, WORKERS, changed(WORKERS, partition="other")))
    problem = only(found, Code.GROUP_NAME_TWICE, "groups", "worker-group", "name")
    assert "2 instance groups are called 'worker-group'" in problem.message


@pytest.mark.parametrize(
    ("partition", "in_message"),
    [
        ("gpu_queue", "holds an underscore"),
        ("p" * 1025, "1025 characters"),
        ("DEFAULT", "slurm.conf uses"),
        ("dev", "HyperPod puts every node"),
    ],
)
def test_partition_name(partition: str, in_message: str):
    found = check_cluster(cluster_with(partition=partition))
    problem = only(found, Code.PARTITION_NAME, "groups", "worker-group", "partition")
    assert in_message in problem.message


@pytest.mark.parametrize(
    ("tags", "code", "in_message"),
    [
        ({"": "x"}, Code.TAG_KEY, "0 characters"),
        ({"k" * 129: "x"}, Code.TAG_KEY, "129 characters"),
        ({"key": "v" * 257}, Code.TAG_VALUE, "257 characters"),
        ({"who?": "x"}, Code.TAG_KEY, "holds '?'"),
        ({"key": "a;b"}, Code.TAG_VALUE, "holds ';'"),
        ({"aws:team": "x"}, Code.TAG_KEY, "begins with 'aws:'"),
    ],
)
def test_tags(tags: dict[str, str], code: Code, in_message: str):
    problem = only(check_tags(tags), code, "tags", *tags)
    assert in_message in problem.message


def test_fifty_tags_fit_and_one_more_does_not():
    tags = {f"key-{number}": "größe = ½ @ a/b" for number in range(50)}
    assert check_tags(tags) == []
    problem = only(check_tags(tags | {"one-more": ""}), Code.TAG_NUMBER, "tags")
    assert "1 too many" in problem.message


def test_two_controllers():
    second = changed(CONTROLLER, name="second")
    problem = only(
        check_cluster(cluster(CONTROLLER, second, WORKERS)),
        Code.CONTROLLER_TWICE,
        "groups",
        "second",
        "node_type",
    )
    assert "'controller-group', 'second'" in problem.message
    assert "keep 'controller-group' as controller" in problem.remedy


def test_no_controller():
    problem = only(check_cluster(cluster(WORKERS)), Code.CONTROLLER_MISSING, "groups")
    assert "ml.m5.xlarge" in problem.remedy


def test_two_login_groups():
    second = changed(LOGIN, name="second")
    problem = only(check_cluster(cluster(CONTROLLER, LOGIN, second)), Code.LOGIN_TWICE, "groups", "second", "node_type")
    assert problem.allowed == "at most one login group"
    assert "raise the count of 'login-group'" in problem.remedy


def test_no_groups():
    codes = [problem.code for problem in check_cluster(cluster(groups=()))]
    assert codes == [Code.GROUP_NUMBER], "that there is no controller either says the same again"


@pytest.mark.parametrize("count", [0, 2])
def test_controller_of_other_than_one_instance(count: int):
    found = check_cluster(cluster(changed(CONTROLLER, count=count), WORKERS))
    problem = only(found, Code.CONTROLLER_COUNT, "groups", "controller-group", "count")
    assert problem.value == count


@pytest.mark.parametrize(("group", "word"), [(CONTROLLER, "controller"), (LOGIN, "login")])
def test_partition_on_a_group_that_runs_no_jobs(group: Any, word: str):
    others = [CONTROLLER] if group is LOGIN else []
    found = check_cluster(cluster(*others, changed(group, partition="heads"), WORKERS))
    problem = only(found, Code.PARTITION_MISPLACED, "groups", group.name, "partition")
    assert f"a {word} group cannot have a partition" in problem.message


@pytest.mark.parametrize("partition", [None, ""])
def test_compute_group_without_partition(partition: str | None):
    found = [problem for problem in check_cluster(cluster_with(partition=partition))]
    assert found[0].code is Code.PARTITION_MISSING
    assert found[0].path == ("groups", "worker-group", "partition")
    assert "'worker-group'" in found[0].remedy


def test_two_groups_may_share_a_partition():
    assert check_cluster(cluster(CONTROLLER, WORKERS, changed(WORKERS, name="more"))) == []


@pytest.mark.parametrize(
    ("changes", "code", "attribute", "in_message"),
    [
        ({"count": -1}, Code.INSTANCE_COUNT, "count", "is negative"),
        ({"count": 6759}, Code.INSTANCE_COUNT, "count", "is above 6758"),
        ({"min_count": -1}, Code.MIN_COUNT, "min_count", "is negative"),
        ({"count": 4, "min_count": 5}, Code.MIN_COUNT_ABOVE_COUNT, "min_count", "minimum of 5 is above the count of 4"),
    ],
)
def test_counts(changes: dict[str, int], code: Code, attribute: str, in_message: str):
    problem = only(check_cluster(cluster_with(**changes)), code, "groups", "worker-group", attribute)
    assert in_message in problem.message


def test_minimum_without_continuous():
    found = check_cluster(
        cluster(
            CONTROLLER,
            changed(WORKERS, min_count=1),
            node_provisioning_mode=None,
            slurm_config_strategy=SlurmConfigStrategy.MERGE,
        )
    )
    problem = only(found, Code.MIN_COUNT_NOT_CONTINUOUS, "groups", "worker-group", "min_count")
    assert "Continuous" in problem.remedy


def test_offered_partition_is_one_that_hyperpod_takes():
    (problem,) = [
        problem
        for problem in check_cluster(cluster_with(name="worker_group", partition=None))
        if problem.code is Code.PARTITION_MISSING
    ]
    assert problem.remedy == "write a partition, e.g. 'worker-group'"
