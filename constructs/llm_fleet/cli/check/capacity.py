"""Checks which AZs offer a fleet's instance types, and whether there is capacity."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from llm_fleet.cli.check.question import Account, Answer, Question, Topic
from llm_fleet.fleet_file.check_network import endpoint_features, zones_of_network
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.machines import CapacitySource, Machines, MachineService, machines_of
from llm_fleet.rules.account.instance_capacity import (
    CapacityNeed,
    Reservation,
    TrainingPlan,
    check_endpoint_zones,
    check_offering,
    check_reservation,
    check_training_plan,
    check_zones_of_account,
    when,
)
from llm_fleet.rules.network import endpoint_zones, interface_endpoints

_BOUGHT = (CapacitySource.TRAINING_PLAN, CapacitySource.CAPACITY_BLOCK, CapacitySource.RESERVATION)
"""Purchased capacity has its own AZ, which is more reliable than an instance type offering."""


def offering_questions(fleet: Fleet) -> Iterator[Question]:
    """Yield the checks of the network's AZs, the services of its endpoints, and the instance types in each AZ."""
    zones = fleet.network.zones if fleet.network is not None else ()
    if zones:
        yield Question(Topic.OFFERINGS, f"AZs {', '.join(zones)}", lambda account: _ask_zones(account, fleet))
    placed = _endpoints(fleet)
    if placed:
        yield Question(
            Topic.OFFERINGS,
            f"interface endpoints in {', '.join(zones)}",
            lambda account: _ask_endpoint_services(account, fleet, placed),
        )
    seen: set[tuple[str, tuple[str, ...]]] = set()
    types = sorted({one.ec2_type for one in requested_machines(fleet)})
    for one in requested_machines(fleet):
        key = (one.instance_type, one.availability_zone_ids)
        if key in seen:
            continue
        seen.add(key)
        yield Question(
            Topic.OFFERINGS,
            f"{one.instance_type} in {', '.join(one.availability_zone_ids)}",
            partial(_ask_offering, one, types),
        )


def requested_machines(fleet: Fleet) -> list[Machines]:
    """Return the instances whose AZs are known and whose capacity was not purchased."""
    return [
        one
        for one in machines_of(fleet)
        if one.instance_type and one.count and one.availability_zone_ids and one.capacity not in _BOUGHT
    ]


def zone_names(account: Account) -> dict[str, str]:
    """Return the names of the account's available AZs by their ids."""
    reported = account.ask("ec2", "describe_availability_zones")["AvailabilityZones"]
    return {zone["ZoneId"]: zone["ZoneName"] for zone in reported if zone.get("State", "available") == "available"}


def zones_with(account: Account, ec2_type: str, types: Sequence[str]) -> set[str]:
    """Return the AZ ids in which EC2 offers `ec2_type`, one of `types`, which are requested together."""
    filters = [{"Name": "instance-type", "Values": types}]
    reported = account.ask(
        "ec2", "describe_instance_type_offerings", LocationType="availability-zone-id", Filters=filters
    )["InstanceTypeOfferings"]
    return {item["Location"] for item in reported if item["InstanceType"] == ec2_type}


def _ask_zones(account: Account, fleet: Fleet) -> Answer:
    names = zone_names(account)
    wanted = zones_of_network(fleet)
    problems = check_zones_of_account(wanted, there=names, region=account.region)
    shown = ", ".join(f"{zone} is {names[zone]} in this account" for zone in wanted if zone in names)
    return Answer(detail=shown or f"this account has {', '.join(sorted(names))}", problems=problems)


def _endpoints(fleet: Fleet) -> dict[str, tuple[str, ...]]:
    """Return the AZs of each new interface endpoint; empty for an existing network."""
    network = fleet.network
    if network is None or network.vpc is not None:
        return {}
    names = interface_endpoints(network.internet, endpoint_features(fleet), network.endpoints)
    return endpoint_zones(names, network.zones, network.without_endpoints)


def _ask_endpoint_services(account: Account, fleet: Fleet, placed: dict[str, tuple[str, ...]]) -> Answer:
    assert fleet.network is not None
    filters = [{"Name": "service-type", "Values": ["Interface"]}]
    services = account.ask("ec2", "describe_vpc_endpoint_services", Filters=filters)["ServiceDetails"]
    zones = account.ask("ec2", "describe_availability_zones")["AvailabilityZones"]
    ids = {zone["ZoneName"]: zone["ZoneId"] for zone in zones}
    # Only newer service models have AZ ids; AZ names differ between accounts.
    offered = {
        one["ServiceName"].partition(f".{account.region}.")[2]: set(
            one.get("AvailabilityZoneIds") or [ids.get(name, name) for name in one.get("AvailabilityZones", ())]
        )
        for one in services
    }
    known = {name: [zone for zone in requested if zone in ids.values()] for name, requested in placed.items()}
    problems = check_endpoint_zones(
        known, offered=offered, without=fleet.network.without_endpoints, region=account.region
    )
    return Answer(
        detail=f"{'not all' if problems else 'all'} of the {len(placed)} services are available there",
        problems=problems,
    )


def _ask_offering(one: Machines, types: list[str], account: Account) -> Answer:
    offered = zones_with(account, one.ec2_type, types)
    hint = not one.service.on_ec2
    problems = check_offering(
        one.instance_type,
        one.availability_zone_ids,
        offered=offered,
        owner=one.owner,
        path=one.path,
        indication=hint,
        region=account.region,
    )
    where = f"EC2 offers it in {', '.join(sorted(offered)) or 'no AZ'}"
    return Answer(detail=f"{where}; this does not guarantee capacity" if hint else where, problems=problems)


_TARGETS = {MachineService.HYPERPOD: "hyperpod-cluster", MachineService.TRAINING_JOB: "training-job"}


def capacity_questions(fleet: Fleet) -> Iterator[Question]:
    """Yield the checks of each training plan and capacity reservation of the fleet."""
    for one in machines_of(fleet):
        if one.capacity_id is None:
            continue
        if one.capacity is CapacitySource.TRAINING_PLAN:
            name = one.capacity_id.rpartition("/")[2]
            yield Question(Topic.CAPACITY, f"training plan {name} for {one.owner}", partial(_ask_plan, fleet, one))
        else:
            yield Question(Topic.CAPACITY, f"{one.capacity_id} for {one.owner}", partial(_ask_reservation, one))


def _ask_plan(fleet: Fleet, one: Machines, account: Account) -> Answer:
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


def _plan(account: Account, name: str) -> TrainingPlan:
    reported = account.find("sagemaker", "describe_training_plan", TrainingPlanName=name)
    if not reported:
        return TrainingPlan(name=name, status="unknown to AWS")
    parts: list[dict[str, Any]] = reported.get("ReservedCapacitySummaries", [])
    return TrainingPlan(
        name=name,
        status=reported["Status"],
        start=reported.get("StartTime"),
        end=reported.get("EndTime"),
        zones=tuple(dict.fromkeys(part["AvailabilityZoneId"] for part in parts if part.get("AvailabilityZoneId"))),
        instance_types=tuple(dict.fromkeys(part["InstanceType"] for part in parts)),
        available=reported.get("AvailableInstanceCount"),
        total=reported.get("TotalInstanceCount"),
        targets=tuple(reported.get("TargetResources", ())),
    )


def _plan_detail(plan: TrainingPlan) -> str:
    parts = [plan.status]
    if plan.zones:
        parts.append(f"in {', '.join(plan.zones)}")
    if plan.available is not None:
        parts.append(f"{plan.available} of {plan.total} free")
    if plan.end is not None:
        parts.append(f"ends {when(plan.end)}")
    return ", ".join(parts)


def _running(account: Account, fleet: Fleet, one: Machines) -> int:
    """Return the number of instances that the group has from an earlier deployment."""
    if one.service is not MachineService.HYPERPOD:
        return 0
    cluster, group = fleet.hyperpod_clusters[one.path[1]], one.path[-1]
    groups = account.find("sagemaker", "describe_cluster", ClusterName=cluster.cluster_name).get("InstanceGroups", ())
    return sum(one["CurrentCount"] for one in groups if one["InstanceGroupName"] == group)


def _ask_reservation(one: Machines, account: Account) -> Answer:
    reservations = _reservations(account, str(one.capacity_id))
    need = CapacityNeed(
        owner=one.owner,
        instance_types=one.instance_types,
        count=one.count,
        zone=one.availability_zone_ids[0] if len(one.availability_zone_ids) == 1 else None,
        path=one.path,
    )
    found = _together(reservations, str(one.capacity_id))
    detail = f"{found.state}, {found.instance_type or 'no type'}, {found.available} of {found.total} free"
    return Answer(detail=detail, problems=check_reservation(found, need, now=datetime.now(UTC)))


def _reservations(account: Account, capacity_id: str) -> list[dict[str, Any]]:
    ids = [capacity_id]
    if capacity_id.startswith("arn:"):
        listed = account.ask("resource-groups", "list_group_resources", Group=capacity_id)
        members = [item.get("Identifier", item) for item in listed.get("Resources", ())]
        ids = [member["ResourceArn"].rpartition("/")[2] for member in members]
    if not ids:
        return []
    reported = account.find("ec2", "describe_capacity_reservations", CapacityReservationIds=ids)
    return reported.get("CapacityReservations", [])


def _together(reported: list[dict[str, Any]], name: str) -> Reservation:
    """Return a capacity reservation, or the sum of the active reservations of a resource group."""
    if not reported:
        return Reservation(
            reservation_id=name, state="unknown to AWS", instance_type="", zone=None, available=0, total=0
        )
    active = [one for one in reported if one["State"] == "active"] or reported
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
