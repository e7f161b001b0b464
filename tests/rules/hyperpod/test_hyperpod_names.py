import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_cluster import check_cluster
from llm_fleet.rules.hyperpod_names import check_tags
from tests.rules.hyperpod.findings import only
from tests.rules.hyperpod.shapes import CONTROLLER, WORKERS, changed, cluster, cluster_with


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
