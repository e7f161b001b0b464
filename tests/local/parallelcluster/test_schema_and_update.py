"""The oracle uses ParallelCluster's own schema and update policies."""

from pathlib import Path
from typing import Any

import pytest

from llm_fleet_local.parallelcluster.client import Oracle, OracleFailed, OracleUnavailable
from tests.local.parallelcluster.configurations import with_change, working
from tools.make_parallelcluster_schema import main


def test_the_catalog_is_the_same_as_the_schema() -> None:
    assert main(["--check"]) == 0


def test_the_version_is_the_expected_one(oracle: Oracle) -> None:
    assert oracle.version() == "3.16.1"


def test_a_working_configuration_passes(oracle: Oracle) -> None:
    assert oracle.schema(working()) == []


@pytest.mark.parametrize(
    ("path", "value", "at", "says"),
    [
        ("Image/Os", "alinux2", "Image/Os", "Must be one of"),
        ("Scheduling/Scheduler", "pbs", "Scheduling/Scheduler", "Must be one of: slurm"),
        (
            "Scheduling/SlurmQueues/0/JobExclusiveAlocation",
            True,
            "Scheduling/SlurmQueues/0/JobExclusiveAlocation",
            "Unk",
        ),
        ("HeadNode/Networking/SubnetId", "subnet-1", "HeadNode/Networking/SubnetId", "does not match"),
    ],
)
def test_errors_of_the_schema_have_path_and_message(oracle: Oracle, path: str, value: Any, at: str, says: str) -> None:
    messages = oracle.schema(with_change(working(), path, value))
    assert [message.path for message in messages] == [at]
    assert says in messages[0].message


def test_a_reservation_makes_no_network_call(oracle: Oracle) -> None:
    target = {"CapacityReservationId": "cr-0123456789abcdef0"}
    assert oracle.schema(with_change(working(), "Scheduling/SlurmQueues/0/CapacityReservationTarget", target)) == []


def test_a_change_has_the_result_of_parallelcluster(oracle: Oracle) -> None:
    new = with_change(working(), "HeadNode/InstanceType", "c5.4xlarge")
    (change,) = oracle.update(working(), new)
    assert (change.path, change.verdict, change.policy) == ("HeadNode/InstanceType", "FAILED", "UNSUPPORTED")
    assert (change.old, change.new) == ("c5.2xlarge", "c5.4xlarge")


def test_a_stopped_fleet_changes_the_result(oracle: Oracle) -> None:
    new = with_change(working(), "Scheduling/SlurmQueues/0/ComputeResources/0/InstanceType", "trn1n.32xlarge")
    assert [change.verdict for change in oracle.update(working(), new)] == ["ACTION NEEDED"]
    assert [change.verdict for change in oracle.update(working(), new, fleet_stopped=True)] == ["SUCCEEDED"]


def test_login_nodes_are_checked_separately(oracle: Oracle) -> None:
    pool = {"Name": "login", "InstanceType": "c5.large", "Count": 1, "Networking": {"SubnetIds": ["subnet-12345678"]}}
    old = with_change(working(), "LoginNodes", {"Pools": [pool]})
    new = with_change(working(), "LoginNodes", {"Pools": [pool | {"InstanceType": "c5.xlarge"}]})
    assert [change.verdict for change in oracle.update(old, new, fleet_stopped=True)] == ["ACTION NEEDED"]
    assert [change.verdict for change in oracle.update(old, new, login_nodes_stopped=True)] == ["SUCCEEDED"]
    assert [change.verdict for change in oracle.update(old, new, login_nodes_stopped=["login"])] == ["SUCCEEDED"]
    assert [change.verdict for change in oracle.update(old, new, login_nodes_stopped=["b"])] == ["ACTION NEEDED"]


def test_a_missing_environment_is_reported(tmp_path: Path) -> None:
    with Oracle(tmp_path) as nowhere, pytest.raises(OracleUnavailable, match="is missing"):
        nowhere.version()


def test_a_failed_request_does_not_affect_the_next_one(oracle: Oracle) -> None:
    with pytest.raises(OracleFailed, match="code failed in `update`") as failed:
        oracle.update({"SharedStorage": 3}, working())
    assert failed.value.error == "TypeError: 'int' object is not iterable"
    assert oracle.schema(working()) == []
