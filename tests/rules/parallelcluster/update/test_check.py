"""Updates rejected at synth, depending on the name and on what the user allows."""

from dataclasses import dataclass
from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_names import name_with_hash
from llm_fleet.rules.parallelcluster.update_check import check_update
from llm_fleet.rules.problem import AnyCode, Problem
from llm_fleet.rules.terms import ImmutableChanges
from tests.rules.parallelcluster.update.configurations import Configuration, Edit, base, edited, put

_VERSION = "3.16.1"
_TRN1 = "Scheduling/SlurmQueues/trn1"
_FREE = put("Scheduling/ScalingStrategy", "best-effort")
_DRAINS = put(f"{_TRN1}/CapacityType", "SPOT")
_HEAD_TYPE = put("HeadNode/InstanceType", "m5.4xlarge")
_WORKER_TYPE = put(f"{_TRN1}/ComputeResources/trn1/InstanceType", "trn1n.32xlarge")
_LOGIN_TYPE = put("LoginNodes/Pools/users/InstanceType", "c5.xlarge")
_PUBLIC = put(f"{_TRN1}/Networking/AssignPublicIp", True)
_OWN_HOOK = put("HeadNode/CustomActions/OnNodeStart", {"Script": "s3://mine/start.sh"})


@dataclass(frozen=True, kw_only=True)
class Deployed:
    configuration: Configuration
    cluster_name: str | None
    version: str | None = _VERSION


def found(*edits: Edit, name_known: bool = True, **how: Any) -> list[Problem]:
    """Return the problems of an update of a cluster whose name contains the hash, as in the construct."""
    old, new = base(), edited(base(), *edits)
    deployed = Deployed(configuration=old, cluster_name=name_with_hash("train", old, _VERSION) if name_known else None)
    return check_update(new, deployed, cluster_name=name_with_hash("train", new, _VERSION), version=_VERSION, **how)


def codes(problems: list[Problem]) -> list[AnyCode]:
    return [problem.code for problem in problems]


def test_an_accepted_update_has_no_problems() -> None:
    assert found() == []
    assert found(_FREE, _DRAINS) == []


def test_a_change_of_the_head_nodes_type_in_place_is_rejected_with_a_remedy() -> None:
    (problem,) = found(_HEAD_TYPE)
    assert problem.code is Code.PC_UPDATE_NEW_CLUSTER
    assert problem.where == "HeadNode.InstanceType"
    assert problem.value == "m5.4xlarge"
    assert "'c5.2xlarge'" in problem.message
    assert "new-cluster" in problem.remedy


def test_all_rejected_changes_are_reported_together() -> None:
    problems = found(_LOGIN_TYPE, _WORKER_TYPE, _PUBLIC, _FREE)
    assert codes(problems) == [Code.PC_UPDATE_NEW_NAME, Code.PC_UPDATE_FLEET, Code.PC_UPDATE_LOGIN_NODES]
    assert "STOP_REQUESTED" in problems[1].remedy


def test_for_a_new_cluster_only_the_reasons_of_its_new_name_are_reported() -> None:
    assert codes(found(_LOGIN_TYPE, _HEAD_TYPE, _PUBLIC)) == [Code.PC_UPDATE_NEW_CLUSTER]


def test_a_fleet_that_is_set_as_stopped_allows_changes() -> None:
    assert found(_WORKER_TYPE, fleet_is_stopped=True) == []
    assert codes(found(_WORKER_TYPE, _LOGIN_TYPE, fleet_is_stopped=True)) == [Code.PC_UPDATE_LOGIN_NODES]


def test_a_new_cluster_can_be_allowed() -> None:
    assert found(_HEAD_TYPE, immutable_changes=ImmutableChanges.NEW_CLUSTER) == []
    # A new cluster has no nodes yet, so nothing must be stopped.
    assert found(_HEAD_TYPE, _WORKER_TYPE, immutable_changes=ImmutableChanges.NEW_CLUSTER) == []
    assert codes(found(_WORKER_TYPE, immutable_changes=ImmutableChanges.NEW_CLUSTER)) == [Code.PC_UPDATE_FLEET]


def test_another_version_requires_a_new_cluster() -> None:
    old = base()
    deployed = Deployed(configuration=old, cluster_name=name_with_hash("train", old, "3.16.0"), version="3.16.0")
    name = name_with_hash("train", old, _VERSION)
    problems = check_update(old, deployed, cluster_name=name, version=_VERSION)
    assert codes(problems) == [Code.PC_UPDATE_NEW_CLUSTER]
    allowed = ImmutableChanges.NEW_CLUSTER
    assert check_update(old, deployed, cluster_name=name, version=_VERSION, immutable_changes=allowed) == []


def test_a_name_that_changes_without_an_immutable_change_is_reported() -> None:
    deployed = Deployed(configuration=base(), cluster_name="elsewhere")
    (problem,) = check_update(base(), deployed, cluster_name="train-12345678", version=_VERSION)
    assert problem.code is Code.PC_UPDATE_RENAMED
    assert "elsewhere" in problem.message


def test_another_location_of_scripts_is_not_a_reason_for_a_new_name() -> None:
    old = base()
    new = edited(old, put("HeadNode/CustomActions/OnNodeConfigured/Script", "s3://other/entry.sh"))
    deployed = Deployed(configuration=old, cluster_name="train-12345678")
    assert codes(check_update(new, deployed, cluster_name="train-87654321", version=_VERSION)) == [
        Code.PC_UPDATE_RENAMED
    ]


@pytest.mark.parametrize("allowed", ImmutableChanges)
def test_an_immutable_change_outside_of_the_hash_is_always_rejected(allowed: ImmutableChanges) -> None:
    (problem,) = found(_OWN_HOOK, immutable_changes=allowed)
    expected = Code.PC_UPDATE_RENAMED if allowed is ImmutableChanges.NEW_CLUSTER else Code.PC_UPDATE_NEW_CLUSTER
    assert problem.code is expected
    assert codes(found(_PUBLIC, immutable_changes=allowed)) == [Code.PC_UPDATE_NEW_NAME]


def test_without_the_old_name_the_hash_is_computed() -> None:
    allowed = ImmutableChanges.NEW_CLUSTER
    assert found(_HEAD_TYPE, name_known=False, immutable_changes=allowed) == []
    assert codes(found(_HEAD_TYPE, name_known=False)) == [Code.PC_UPDATE_NEW_CLUSTER]
    assert codes(found(_OWN_HOOK, name_known=False, immutable_changes=allowed)) == [Code.PC_UPDATE_RENAMED]


def test_a_literal_that_replaces_a_reference_is_not_rejected() -> None:
    old = base()
    new = edited(old, put("HeadNode/Networking/SubnetId", {"Ref": "Subnet"}))
    deployed = Deployed(configuration=old, cluster_name=None, version=None)
    assert check_update(new, deployed, cluster_name="train-12345678", version=_VERSION) == []
