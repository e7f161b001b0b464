import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_cluster import check_cluster
from llm_fleet.rules.hyperpod_lifecycle import check_lifecycle_source
from tests.rules.hyperpod.findings import TOKEN, only
from tests.rules.hyperpod.shapes import cluster, cluster_with


def test_on_create_with_on_init_complete():
    found = check_cluster(cluster_with(on_create="on_create.sh", on_init_complete="on_init_complete.sh"))
    problem = only(found, Code.LIFECYCLE_BOTH_HOOKS, "groups", "worker-group", "on_create")
    assert "exclude each other" in problem.message
    assert "keep OnInitComplete" in problem.remedy


@pytest.mark.parametrize(
    ("script", "in_message"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("s" * 129, "is 129 characters long"),
        ("s3://bucket/on_create.sh", "is a path or an address"),
        ("/opt/on_create.sh", "is a path or an address"),
    ],
)
def test_script_names(script: str, in_message: str):
    problem = only(
        check_cluster(cluster_with(on_create=script, on_init_complete=None)),
        Code.LIFECYCLE_SCRIPT,
        "groups",
        "worker-group",
        "on_create",
    )
    assert in_message in problem.message


@pytest.mark.parametrize("uri", ["my-bucket/prefix", "", "ftp://my-bucket/x"])
def test_source_that_is_no_uri(uri: str):
    problem = only(
        check_cluster(cluster(lifecycle_source_s3_uri=uri)), Code.LIFECYCLE_SOURCE, "lifecycle_source_s3_uri"
    )
    assert problem.remedy == "write s3://<bucket>/<prefix>/"


def test_source_that_is_too_long():
    problem = only(
        check_lifecycle_source("s3://sagemaker-x/" + "p" * 1024, has_script=True),
        Code.LIFECYCLE_SOURCE,
        "lifecycle_source_s3_uri",
    )
    assert "is 1041 characters long" in problem.message


def test_script_without_a_source():
    problem = only(check_lifecycle_source(None, has_script=True), Code.LIFECYCLE_SOURCE, "lifecycle_source_s3_uri")
    assert "nothing says where it lies" in problem.message
    assert check_lifecycle_source(None, has_script=False) == []
    assert check_lifecycle_source(TOKEN, has_script=True) == []
