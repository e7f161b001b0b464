"""Checks of purchased capacity: the training plan or capacity reservation of a group, as AWS returns it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from llm_fleet_local.aws.client import LocalAws
from tests.cli.check.conftest import TRN1, Check
from tests.pains.reported import reported

_ARN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/my-plan"
_WITH_PLAN = TRN1.replace("partition: trn1}", f"partition: trn1, training_plan: '{_ARN}'}}")
_POOL = """
fleet: pc
region: us-west-2
network: {az: usw2-az4}
clusters:
  train:
    kind: parallelcluster
    head: {type: m5.xlarge}
    queues:
      gpu: {type: p5.48xlarge, max: 4, reservation: cr-0123456789abcdef0}
"""


def _now(**later: float) -> str:
    return (datetime.now(UTC) + timedelta(**later)).isoformat()


def _plan(zone: str = "usw2-az4", **changed: Any) -> dict[str, Any]:
    return {
        "TrainingPlanName": "my-plan",
        "Status": "Active",
        "StartTime": _now(days=-2),
        "EndTime": _now(days=20),
        "TotalInstanceCount": 4,
        "AvailableInstanceCount": 4,
        "TargetResources": ["hyperpod-cluster"],
        "ReservedCapacitySummaries": [
            {
                "ReservedCapacityArn": _ARN.replace("training-plan", "reserved-capacity"),
                "InstanceType": "ml.trn1.32xlarge",
                "TotalInstanceCount": 4,
                "Status": "Active",
                "AvailabilityZoneId": zone,
            }
        ],
        **changed,
    }


def _reported(check: Check, aws: LocalAws, plan: dict[str, Any]) -> dict[str, Any]:
    aws.give_account(training_plans=[plan])
    return check(_WITH_PLAN, "--json", "--only", "capacity").rows["training plan my-plan for train/trn1"]


def test_a_missing_training_plan_is_reported(check: Check):
    checked = check(_WITH_PLAN, "--json", "--only", "capacity")
    assert "is unknown to AWS" in checked.only("training plan my-plan for train/trn1")["message"]


def test_a_training_plan_with_enough_instances_is_good(check: Check, aws: LocalAws):
    row = _reported(check, aws, _plan())
    assert row["verdict"] == "good"
    assert row["detail"].startswith("Active, in usw2-az4, 4 of 4 free, ends ")


def test_a_training_plan_in_another_az_is_reported(check: Check, aws: LocalAws):
    (problem,) = _reported(check, aws, _plan("usw2-az1"))["problems"]
    reported(14, problem["message"], "the training plan my-plan has its instances in usw2-az1, but train/trn1 is in")
    assert problem["remedy"].startswith("write `az: usw2-az1`")


def test_a_training_plan_that_ends_and_has_too_few_instances_has_two_problems(check: Check, aws: LocalAws):
    row = _reported(check, aws, _plan(EndTime=_now(hours=2), AvailableInstanceCount=3))
    ends, spare = row["problems"]
    assert "ends at" in ends["message"]
    reported(14, spare["message"], "requires 4 more instances of the training plan my-plan, which has 3 free of 4")


def test_a_training_plan_replaces_the_checks_of_quota_and_offering(check: Check, aws: LocalAws):
    aws.give_account(training_plans=[_plan()])
    rows = check(_WITH_PLAN, "--json").rows
    assert "quota ml.trn1.32xlarge for cluster usage" not in rows
    assert "ml.trn1.32xlarge in usw2-az4" not in rows


def test_a_reservation_of_parallelcluster_is_checked(check: Check, aws: LocalAws):
    aws.give_account(
        capacity_reservations=[
            {
                "CapacityReservationId": "cr-0123456789abcdef0",
                "State": "active",
                "InstanceType": "p5.48xlarge",
                "AvailabilityZoneId": "usw2-az1",
                "TotalInstanceCount": 4,
                "AvailableInstanceCount": 1,
            }
        ]
    )
    row = check(_POOL, "--json", "--only", "capacity").rows["cr-0123456789abcdef0 for train/gpu"]
    assert row["detail"] == "active, p5.48xlarge, 1 of 4 free"
    zone, count = row["problems"]
    assert "is in usw2-az1, but train/gpu is in usw2-az4" in zone["message"]
    assert "requires up to 4 more instances" in count["message"]
