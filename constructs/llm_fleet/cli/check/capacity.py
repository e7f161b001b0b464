"""Asks for capacity that a fleet was promised: training plans, capacity reservations, Capacity Blocks."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from llm_fleet.cli.aws.refusals import AwsRefusal
from llm_fleet.cli.check.account import Account
from llm_fleet.cli.check.question import Answer, Ask, Question
from llm_fleet.cli.check.topic import Topic
from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.machine import Machines
from llm_fleet.needs.machines import machines_of
from llm_fleet.needs.terms import CapacitySource, MachineService
from llm_fleet.rules.account.capacity import CapacityNeed, when
from llm_fleet.rules.account.reservation import Reservation, check_reservation
from llm_fleet.rules.account.training_plan import TrainingPlan, check_training_plan
from llm_fleet.rules.day_two.command_codes import CommandCode

_TARGETS = {MachineService.HYPERPOD: "hyperpod-cluster", MachineService.TRAINING_JOB: "training-job"}
_UNKNOWN_PLAN = TrainingPlan(name="", status="unknown to AWS")


def questions(fleet: Fleet, *, region: str) -> Iterator[Question]:
    """Ask for each plan and reservation that the fleet names."""
    for one in machines_of(fleet):
        if one.capacity_id is None:
            continue
        if one.capacity is CapacitySource.TRAINING_PLAN:
            name = one.capacity_id.rpartition("/")[2]
            yield Question(
                topic=Topic.CAPACITY, what=f"training plan {name} for {one.owner}", answer=_asking_plan(fleet, one)
            )
        else:
            yield Question(
                topic=Topic.CAPACITY, what=f"{one.capacity_id} for {one.owner}", answer=_asking_reservation(one)
            )


def _asking_plan(fleet: Fleet, one: Machines) -> Ask:
    def answer(account: Account) -> Answer:
        name = str(one.capacity_id).rpartition("/")[2]
        plan = _plan(account, name)
        need = CapacityNeed(
            owner=one.owner,
            instance_types=one.instance_types,
            count=max(0, one.count - _running(account, fleet, one)),
            zone=one.availability_zone_ids[0] if len(one.availability_zone_ids) == 1 else None,
            path=one.path,
        )
        target = _TARGETS.get(one.service, one.service.value)
        problems = check_training_plan(plan, need, now=datetime.now(UTC), target=target)
        return Answer(detail=_plan_detail(plan), problems=problems)

    return answer


def _plan(account: Account, name: str) -> TrainingPlan:
    try:
        told = account.ask("sagemaker", "describe_training_plan", TrainingPlanName=name)
    except AwsRefusal as refusal:
        if refusal.code is not CommandCode.GONE:
            raise
        return TrainingPlan(name=name, status=_UNKNOWN_PLAN.status)
    parts: list[dict[str, Any]] = told.get("ReservedCapacitySummaries", [])
    return TrainingPlan(
        name=name,
        status=told["Status"],
        start=told.get("StartTime"),
        end=told.get("EndTime"),
        zones=tuple(dict.fromkeys(part["AvailabilityZoneId"] for part in parts if part.get("AvailabilityZoneId"))),
        instance_types=tuple(dict.fromkeys(part["InstanceType"] for part in parts)),
        available=told.get("AvailableInstanceCount"),
        total=told.get("TotalInstanceCount"),
        targets=tuple(told.get("TargetResources", ())),
    )


def _plan_detail(plan: TrainingPlan) -> str:
    parts = [plan.status]
    if plan.zones:
        parts.append(f"in {', '.join(plan.zones)}")
    if plan.available is not None:
        parts.append(f"{plan.available} free of {plan.total}")
    if plan.end is not None:
        parts.append(f"ends {when(plan.end)}")
    return ", ".join(parts)


def _running(account: Account, fleet: Fleet, one: Machines) -> int:
    """Return how many instances the group has already, from an earlier deployment."""
    if one.service is not MachineService.HYPERPOD:
        return 0
    cluster, group = fleet.hyperpod_clusters[one.path[1]], one.path[-1]
    try:
        told = account.ask("sagemaker", "describe_cluster", ClusterName=cluster.cluster_name)
    except AwsRefusal as refusal:
        if refusal.code is not CommandCode.GONE:
            raise
        return 0
    return sum(one["CurrentCount"] for one in told["InstanceGroups"] if one["InstanceGroupName"] == group)


def _asking_reservation(one: Machines) -> Ask:
    def answer(account: Account) -> Answer:
        reservations = _reservations(account, str(one.capacity_id))
        need = CapacityNeed(
            owner=one.owner,
            instance_types=one.instance_types,
            count=one.count,
            zone=one.availability_zone_ids[0] if len(one.availability_zone_ids) == 1 else None,
            path=one.path,
        )
        found = _together(reservations, str(one.capacity_id))
        detail = f"{found.state}, {found.instance_type or 'no type'}, {found.available} free of {found.total}"
        return Answer(detail=detail, problems=check_reservation(found, need, now=datetime.now(UTC)))

    return answer


def _reservations(account: Account, capacity_id: str) -> list[dict[str, Any]]:
    ids = [capacity_id]
    if capacity_id.startswith("arn:"):
        listed = account.ask("resource-groups", "list_group_resources", Group=capacity_id)
        members = [item.get("Identifier", item) for item in listed.get("Resources", ())]
        ids = [member["ResourceArn"].rpartition("/")[2] for member in members]
    if not ids:
        return []
    try:
        return account.ask("ec2", "describe_capacity_reservations", CapacityReservationIds=ids)["CapacityReservations"]
    except AwsRefusal as refusal:
        if refusal.code is not CommandCode.GONE:
            raise
        return []


def _together(told: list[dict[str, Any]], name: str) -> Reservation:
    """Return what a single reservation is, or what the active ones of a resource group are together."""
    if not told:
        return Reservation(
            reservation_id=name, state="unknown to AWS", instance_type="", zone=None, available=0, total=0
        )
    active = [one for one in told if one["State"] == "active"] or told
    ends = [one["EndDate"] for one in active if one.get("EndDate")]
    zones = {one.get("AvailabilityZoneId") for one in active}
    return Reservation(
        reservation_id=name,
        state=active[0]["State"],
        instance_type=active[0]["InstanceType"],
        zone=zones.pop() if len(zones) == 1 else None,
        available=sum(one["AvailableInstanceCount"] for one in active),
        total=sum(one["TotalInstanceCount"] for one in active),
        start=active[0].get("StartDate"),
        end=min(ends, default=None),
        is_block=active[0].get("ReservationType") == "capacity-block",
    )
