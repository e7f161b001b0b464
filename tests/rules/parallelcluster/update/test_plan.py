"""What our plan reports in addition to ParallelCluster's verdict: effects on nodes, unknown values, and remedies."""

import json
from typing import Any

import pytest

from llm_fleet.rules.parallelcluster.update_changes import Verdict, normal, value_text
from llm_fleet.rules.parallelcluster.update_plan import PlannedChange, plan_json, plan_text, plan_update
from llm_fleet_local.parallelcluster.client import Oracle
from tests.rules.parallelcluster.update.configurations import (
    MANAGED_LUSTRE,
    Configuration,
    Edit,
    append,
    base,
    drop,
    edited,
    put,
)

_TRN1 = "Scheduling/SlurmQueues/trn1"
_RESOURCE = f"{_TRN1}/ComputeResources/trn1"
_SUBNETS = "Networking/SubnetIds"


def planned(edit: Edit, old: Configuration | None = None, **how: Any) -> PlannedChange:
    """Return the only change of `edit`."""
    before = old or base()
    (change,) = plan_update(before, edited(before, edit), **how).changes
    return change


@pytest.mark.parametrize(
    ("strategy", "verdict"),
    [
        ("DRAIN", Verdict.DRAINS),
        ("TERMINATE", Verdict.TERMINATES),
        ("COMPUTE_FLEET_STOP", Verdict.NEEDS_STOPPED_FLEET),
    ],
)
@pytest.mark.parametrize(
    "edit",
    [
        put(f"{_TRN1}/CustomActions/OnNodeConfigured/Script", "s3://scripts/bbbb/entry.sh"),
        put(f"{_TRN1}/CapacityType", "SPOT"),
        put(f"{_RESOURCE}/Efa/Enabled", False),
    ],
)
def test_the_verdict_depends_on_the_queue_update_strategy(strategy: str, verdict: Verdict, edit: Edit) -> None:
    assert planned(edit, base(strategy)).verdict is verdict
    assert planned(edit, base(strategy), fleet_is_stopped=True).verdict is Verdict.FREE


def test_a_smaller_queue_is_not_drained_with_any_strategy() -> None:
    fewer = put(f"{_RESOURCE}/MaxCount", 3)
    assert planned(fewer, base("DRAIN")).verdict is Verdict.NEEDS_STOPPED_FLEET
    assert "TERMINATE" in planned(fewer, base("DRAIN")).remedy
    assert planned(fewer, base("TERMINATE")).verdict is Verdict.TERMINATES
    assert planned(put(f"{_RESOURCE}/MaxCount", 5), base("TERMINATE")).verdict is Verdict.FREE
    gone = planned(drop("Scheduling/SlurmQueues/cpu"), base("TERMINATE"))
    assert gone.verdict is Verdict.TERMINATES
    assert "queue cpu" in gone.reason


def test_the_strategy_of_the_new_configuration_is_used() -> None:
    old = base("COMPUTE_FLEET_STOP")
    new = edited(base("DRAIN"), put(f"{_TRN1}/CapacityType", "SPOT"))
    assert plan_update(old, new).verdict is Verdict.DRAINS
    assert plan_update(base("DRAIN"), edited(old, put(f"{_TRN1}/CapacityType", "SPOT"))).passes is False


def test_another_form_of_a_scalar_is_not_a_change() -> None:
    old = edited(base(), put(f"{_RESOURCE}/MaxCount", "4"), put("Monitoring/DetailedMonitoring", "false"))
    assert plan_update(old, base()).changes == ()
    assert plan_text(plan_update(old, base())) == "nothing changes\n"


def test_another_version_requires_a_new_cluster() -> None:
    (change,) = plan_update(base(), base(), version_old="3.16.0", version_new="3.16.1").changes
    assert (change.where, change.verdict) == ("Version", Verdict.NEEDS_NEW_CLUSTER)
    assert plan_update(base(), base(), version_old=None, version_new="3.16.1").changes == ()


def test_tags_cannot_change_in_isolated_regions() -> None:
    tags = put("Tags/0/Value", "other")
    assert planned(tags).verdict is Verdict.FREE
    isolated = planned(tags, region="us-iso-east-1")
    assert isolated.verdict is Verdict.NEEDS_NEW_CLUSTER
    assert "isolated regions" in isolated.reason


# Literals compared with references.


def test_it_is_unknown_whether_a_reference_equals_a_literal() -> None:
    change = planned(put("HeadNode/Networking/SubnetId", {"Ref": "Subnet"}))
    assert change.verdict is Verdict.UNKNOWN
    assert "requires a new cluster" in change.reason
    assert planned(put("HeadNode/Ssh/AllowedIps", {"Ref": "Addresses"})).verdict is Verdict.FREE


def test_another_reference_is_a_change() -> None:
    old = edited(base(), put("HeadNode/Networking/SubnetId", {"Ref": "Subnet"}))
    assert plan_update(old, old).changes == ()
    assert planned(put("HeadNode/Networking/SubnetId", {"Ref": "Other"}), old).verdict is Verdict.NEEDS_NEW_CLUSTER


def test_a_reference_in_a_list_can_equal_only_the_literal_at_its_position() -> None:
    subnets = f"{_TRN1}/Networking/SubnetIds"
    old = edited(base("COMPUTE_FLEET_STOP"), put(subnets, ["subnet-a", "subnet-b"]))
    assert planned(put(subnets, ["subnet-a", {"Ref": "B"}]), old).verdict is Verdict.UNKNOWN
    assert planned(put(subnets, ["subnet-c", {"Ref": "B"}]), old).verdict is Verdict.NEEDS_STOPPED_FLEET
    assert planned(put(subnets, [{"Ref": "B"}]), old).verdict is Verdict.NEEDS_STOPPED_FLEET


def test_an_item_named_by_a_reference_can_be_the_one_named_by_a_literal() -> None:
    policies = "LoginNodes/Pools/users/Iam/AdditionalIamPolicies"
    old = edited(base(), put(policies, [{"Policy": "arn:aws:iam::1:policy/p"}]))
    assert planned(put(policies, [{"Policy": {"Ref": "Policy"}}]), old).verdict is Verdict.FREE


def test_a_count_that_is_a_token_is_not_treated_as_an_increase() -> None:
    assert planned(put(f"{_RESOURCE}/MaxCount", {"Ref": "Count"})).verdict is Verdict.UNKNOWN
    both = edited(base(), put(f"{_RESOURCE}/MaxCount", {"Ref": "Count"}), put(f"{_RESOURCE}/MinCount", 3))
    verdicts = {change.path[-1]: change.verdict for change in plan_update(base(), both).changes}
    assert verdicts == {"MaxCount": Verdict.UNKNOWN, "MinCount": Verdict.NEEDS_STOPPED_FLEET}


# Items with another name.


@pytest.mark.parametrize(
    ("edit", "needs"),
    [
        (put(f"{_TRN1}/Networking/AssignPublicIp", True), "requires a stopped fleet"),
        (drop("LoginNodes/Pools/users/Dcv"), "requires stopped login nodes"),
        (put("SharedStorage/fsx/FsxLustreSettings/FileSystemId", "fs-0123456789abcdef9"), "DeletionPolicy"),
        (put("SharedStorage/ebs/EbsSettings/Size", 200), "DeletionPolicy"),
    ],
)
def test_another_name_is_suggested_for_immutable_changes(edit: Edit, needs: str) -> None:
    change = planned(edit)
    assert change.verdict is Verdict.NEEDS_NEW_NAME
    assert "another name" in change.remedy
    assert needs in change.remedy


def test_parallelcluster_accepts_the_item_with_another_name(oracle: Oracle) -> None:
    edits = [put("SharedStorage/fsx/FsxLustreSettings/FileSystemId", "fs-0123456789abcdef9")]
    new = edited(base(), *edits, put("SharedStorage/fsx/Name", "fsx2"))
    assert [row.verdict for row in oracle.update(base(), new)] == ["SUCCEEDED", "SUCCEEDED"]
    assert plan_update(base(), new).verdict is Verdict.FREE
    queue = edited(base("TERMINATE"), put(f"{_TRN1}/Networking/AssignPublicIp", True), put(f"{_TRN1}/Name", "trn"))
    assert [row.verdict for row in oracle.update(base("TERMINATE"), queue)] == ["SUCCEEDED", "SUCCEEDED"]


def test_another_name_is_not_suggested_for_the_home() -> None:
    change = planned(put("SharedStorage/home/EfsSettings/FileSystemId", "fs-0123456789abcdef9"))
    assert change.verdict is Verdict.NEEDS_NEW_CLUSTER


# Cases in which ParallelCluster's own check is wrong or stops.


def test_a_moved_mount_is_rejected_although_parallelclusters_check_stops(oracle: Oracle) -> None:
    move = put("SharedStorage/fsx/MountDir", "/data")
    with pytest.raises(RuntimeError, match="AttributeError"):
        oracle.update(base(), edited(base(), move))
    assert planned(move).verdict is Verdict.NEEDS_STOPPED_FLEET
    quiet = base(login_nodes=0)
    rows = oracle.update(quiet, edited(quiet, move), fleet_stopped=True, login_nodes_stopped=True)
    assert [row.verdict for row in rows] == ["SUCCEEDED"]
    assert planned(move, quiet, fleet_is_stopped=True).verdict is Verdict.FREE


def test_a_mount_cannot_be_moved_to_or_from_home() -> None:
    for edit in (put("SharedStorage/fsx/MountDir", "/home"), put("SharedStorage/home/MountDir", "/data")):
        change = planned(edit, base(login_nodes=0), fleet_is_stopped=True)
        assert change.verdict is Verdict.NEEDS_NEW_CLUSTER


_GROUPS: list[dict[str, Any]] = [{}, {"Enabled": True}, {"Enabled": False}, {"Enabled": True, "Name": "mine"}]


@pytest.mark.parametrize("old_group", _GROUPS)
@pytest.mark.parametrize("new_group", _GROUPS)
def test_a_placement_group_has_the_more_severe_of_two_verdicts(
    oracle: Oracle, old_group: dict[str, Any], new_group: dict[str, Any]
) -> None:
    """Typed values as in the pcluster command, and text as in the provider, for which 'false' is true."""
    place = f"{_TRN1}/Networking/PlacementGroup"
    old, new = edited(base(), put(place, old_group)), edited(base(), put(place, new_group))
    rows = [*oracle.update(old, new), *oracle.update(normal(old), normal(new))]
    assert plan_update(old, new).passes is all(row.verdict == "SUCCEEDED" for row in rows)


def test_queues_in_other_subnets_would_delete_the_data_of_a_lustre_file_system(oracle: Oracle) -> None:
    old = edited(base("TERMINATE"), append("SharedStorage", MANAGED_LUSTRE))
    new = edited(old, put(f"{_TRN1}/Name", "other"), put(f"Scheduling/SlurmQueues/other/{_SUBNETS}", ["subnet-c"]))
    assert {row.verdict for row in oracle.update(old, new)} == {"SUCCEEDED"}
    plan = plan_update(old, new)
    assert (plan.changes[0].where, plan.changes[0].verdict) == ("SharedStorage[scratch]", Verdict.NEEDS_NEW_CLUSTER)
    stays = edited(old, put(f"{_TRN1}/Name", "other"))
    assert plan_update(old, stays).passes
    given = edited(base("TERMINATE"), put(f"{_TRN1}/{_SUBNETS}", ["subnet-c"]), put(f"{_TRN1}/Name", "other"))
    assert plan_update(base("TERMINATE"), given).passes
    # Another name is also not suggested for the queue whose subnets ParallelCluster checks.
    guarded = planned(put(f"{_TRN1}/{_SUBNETS}", ["subnet-c"]), old)
    assert guarded.verdict is Verdict.NEEDS_NEW_CLUSTER


# Sections that are CDK tokens, and malformed ones.


def test_a_section_that_is_a_token_is_compared_as_a_whole() -> None:
    chosen = {"Fn::If": ["Big", {"InstanceType": "m5.4xlarge"}, {"InstanceType": "m5.large"}]}
    old = edited(base(), put("HeadNode", chosen))
    assert plan_update(old, old).changes == ()
    assert plan_update(old, base()).verdict is Verdict.UNKNOWN
    assert plan_update(old, edited(old, put("HeadNode", {"Ref": "Head"}))).verdict is Verdict.NEEDS_NEW_CLUSTER
    volumes = edited(base(), put("HeadNode/LocalStorage", {"Ref": "Volumes"}))
    assert plan_update(base(), volumes).verdict is Verdict.UNKNOWN
    queues = edited(base(), put("Scheduling/SlurmQueues", {"Fn::If": ["Big", [], []]}))
    (change,) = plan_update(base(), queues).changes
    assert (change.where, change.verdict) == ("Scheduling/SlurmQueues", Verdict.UNKNOWN)


@pytest.mark.parametrize("value", ["text", 4, [], ["text"], {}, [{"Name": {"Ref": "Name"}}], [{}]])
@pytest.mark.parametrize("place", ["HeadNode", "Scheduling/SlurmQueues", "LoginNodes", "SharedStorage", "Tags"])
def test_malformed_configurations_are_compared_without_an_exception(place: str, value: Any) -> None:
    odd = edited(base(), put(place, value))
    assert plan_update(odd, odd).changes == ()
    assert plan_update(base(), odd).changes
    assert plan_update(odd, base()).changes


# Output of the plan.


def test_the_text_has_the_most_severe_change_first_and_the_total_at_the_end() -> None:
    edits = [
        put("HeadNode/InstanceType", "m5.4xlarge"),
        put(f"{_TRN1}/CapacityType", "SPOT"),
        put("Scheduling/ScalingStrategy", "best-effort"),
    ]
    lines = plan_text(plan_update(base(), edited(base(), *edits))).splitlines()
    assert lines[0] == "requires a new cluster  HeadNode/InstanceType"
    assert lines[1].strip() == "c5.2xlarge -> m5.4xlarge"
    assert lines[-1] == (
        "3 changes (requires a new cluster: 1, drains the queue: 1, free: 1); ParallelCluster would reject the update"
    )


def test_references_are_written_in_a_short_form() -> None:
    script = {"Fn::Join": ["", [{"Fn::GetAtt": ["Scripts", "Uri", "0a1b2c3d"]}, "entry.sh"]]}
    assert value_text(script) == "${Scripts.Uri#0a1b2c3d}entry.sh"
    assert value_text([{"Ref": "Subnet"}, "subnet-1"]) == "[${Subnet}, subnet-1]"
    assert value_text({"Name": "q", "Fn::If": []}) == "{Name: q, Fn::If: []}"
    assert value_text(None) == "(none)"
    long = value_text("a" * 50 + "b" * 50)
    assert len(long) == 72
    assert long.startswith("aaa")
    assert long.endswith("bbb")


def test_the_json_has_every_change() -> None:
    plan = plan_update(base(), edited(base(), append("SharedStorage", MANAGED_LUSTRE)))
    document = json.loads(plan_json(plan))
    assert document["passes"] is False
    assert document["verdict"] == "NEEDS_STOPPED_LOGIN_NODES"
    (change,) = document["changes"]
    assert change["path"] == "SharedStorage"
    assert change["old"] is None
    assert change["new"]["Name"] == "scratch"
    assert change["policy"] == "SHARED_STORAGE_UPDATE_POLICY"
