"""Capacity for instances: where types are offered, reservations, training plans."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from llm_fleet.rules.command_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem


def request_command(service: str, code: str, desired: float, region: str) -> str:
    """Return the command line that asks for a quota of `desired`, rounded up, in `region`."""
    return (
        f"aws service-quotas request-service-quota-increase --service-code {service} --quota-code {code} "
        f"--desired-value {ceil(desired)} --region {region}"
    )


WARNED_BEFORE = timedelta(days=1)
"""Who deploys onto capacity that ends within a day wants to know it. Our choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityNeed:
    """What one part of a fleet takes of bought capacity."""

    owner: str
    instance_types: tuple[str, ...]
    """As the seller names them, e.g. `ml.trn1.32xlarge` of a training plan, `p5.48xlarge` of EC2."""
    count: int
    """What is not running yet."""
    zone: str | None = None
    """AZ id where it is to stand; `None` where nobody told."""
    path: tuple[PathPart, ...] = ()


def when(moment: datetime) -> str:
    """Return a moment as people write it, in UTC."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


_COMING = ("scheduled", "pending", "assessing", "delayed", "payment-pending")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What DescribeCapacityReservations says of one."""

    reservation_id: str
    state: str
    instance_type: str
    zone: str | None
    available: int
    total: int
    start: datetime | None = None
    end: datetime | None = None
    is_block: bool = False


def check_reservation(reservation: Reservation, need: CapacityNeed, *, now: datetime) -> list[Problem]:
    """Return everything that keeps `need` from running on `reservation` now."""
    if reservation.state != "active":
        return [_state(reservation, need)]
    return [
        *_reservation_time(reservation, need, now),
        *_reservation_zone(reservation, need),
        *_reservation_kind(reservation, need, now),
    ]


def _name(reservation: Reservation) -> str:
    return f"the {'Capacity Block' if reservation.is_block else 'capacity reservation'} {reservation.reservation_id}"


def _state(reservation: Reservation, need: CapacityNeed) -> Problem:
    coming = reservation.state in _COMING
    starts = f", and begins at {when(reservation.start)}" if coming and reservation.start else ""
    return Problem(
        code=CheckCode.RESERVATION_STATE,
        path=need.path,
        message=f"{_name(reservation)} of {need.owner} is {reservation.state}{starts}",
        value=reservation.state,
        allowed="active",
        remedy="deploy once it is active: until then its instances cannot be launched"
        if coming
        else "name another under `reservation`, or remove the key for on-demand capacity",
    )


def _reservation_time(reservation: Reservation, need: CapacityNeed, now: datetime) -> list[Problem]:
    if reservation.end is None or reservation.end - now >= WARNED_BEFORE:
        return []
    early = "; EC2 ends the instances of a Capacity Block half an hour before" if reservation.is_block else ""
    return [
        Problem(
            code=CheckCode.RESERVATION_TIME,
            path=need.path,
            message=f"{_name(reservation)} of {need.owner} ends at {when(reservation.end)}{early}",
            value=when(reservation.end),
            remedy="save checkpoints before it ends, and get one that lasts longer with `aws ec2 "
            + ("describe-capacity-block-offerings`" if reservation.is_block else "modify-capacity-reservation`"),
        )
    ]


def _reservation_zone(reservation: Reservation, need: CapacityNeed) -> list[Problem]:
    if need.zone is None or reservation.zone is None or need.zone == reservation.zone:
        return []
    return [
        Problem(
            code=CheckCode.RESERVATION_ZONE,
            path=need.path,
            message=f"{_name(reservation)} is in {reservation.zone}, and {need.owner} stands in {need.zone}",
            value=need.zone,
            allowed=reservation.zone,
            remedy=f"put it into {reservation.zone} with `az`; a file system that it mounts must be there too",
        )
    ]


def _reservation_kind(reservation: Reservation, need: CapacityNeed, now: datetime) -> list[Problem]:
    found: list[Problem] = []
    if need.instance_types and reservation.instance_type not in need.instance_types:
        found.append(
            Problem(
                code=CheckCode.RESERVATION_TYPE,
                path=need.path,
                message=f"{_name(reservation)} is of {reservation.instance_type}, and {need.owner} asks for "
                f"{', '.join(need.instance_types)}",
                value=need.instance_types[0],
                allowed=reservation.instance_type,
                remedy=f"write `type: {reservation.instance_type}`, or name another reservation",
            )
        )
    if need.count > reservation.available:
        found.append(
            Problem(
                code=CheckCode.RESERVATION_COUNT,
                path=need.path,
                message=f"{need.owner} takes up to {need.count} more instances of {_name(reservation)}, which has "
                f"{reservation.available} free of {reservation.total}",
                value=need.count,
                allowed=f"up to {reservation.available}",
                remedy=f"write `max: {reservation.available}` or less, free instances elsewhere, or reserve more",
            )
        )
    return found


_GOOD = ("Active", "Scheduled")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """What DescribeTrainingPlan says."""

    name: str
    status: str
    start: datetime | None = None
    end: datetime | None = None
    zones: tuple[str, ...] = ()
    """AZ ids of its reserved capacity."""
    instance_types: tuple[str, ...] = ()
    available: int | None = None
    """Instances that nobody uses."""
    total: int | None = None
    targets: tuple[str, ...] = ()
    """What it was bought for, e.g. `hyperpod-cluster`."""


def check_training_plan(plan: TrainingPlan, need: CapacityNeed, *, now: datetime, target: str) -> list[Problem]:
    """Return everything that keeps `need` from running on `plan` now. `target`: its use, e.g. `hyperpod-cluster`."""
    if plan.status not in _GOOD:
        return [_status(plan, need)]
    return [
        *_training_plan_time(plan, need, now),
        *_training_plan_zone(plan, need),
        *_training_plan_kind(plan, need, target),
        *_count(plan, need),
    ]


def _status(plan: TrainingPlan, need: CapacityNeed) -> Problem:
    return Problem(
        code=CheckCode.PLAN_STATUS,
        path=need.path,
        message=f"the training plan {plan.name} of {need.owner} is {plan.status}, and gives no capacity",
        value=plan.status,
        allowed=" or ".join(_GOOD),
        remedy="wait until it is active: it is being paid or set up"
        if plan.status == "Pending"
        else "buy another with `aws sagemaker search-training-plan-offerings` and `create-training-plan`, and name it",
    )


def _training_plan_time(plan: TrainingPlan, need: CapacityNeed, now: datetime) -> list[Problem]:
    if plan.end is not None and plan.end - now < WARNED_BEFORE:
        over = "ended" if plan.end <= now else "ends"
        return [
            Problem(
                code=CheckCode.PLAN_TIME,
                path=need.path,
                message=f"the training plan {plan.name} of {need.owner} {over} at {when(plan.end)}, and its "
                "instances go with it",
                value=when(plan.end),
                remedy="buy one that lasts longer, or extend this one with `aws sagemaker extend-training-plan`, and "
                "save checkpoints before it ends",
            )
        ]
    if plan.start is not None and plan.start > now:
        return [
            Problem(
                code=CheckCode.PLAN_TIME,
                path=need.path,
                message=f"the training plan {plan.name} of {need.owner} begins at {when(plan.start)} only",
                value=when(plan.start),
                remedy="deploy after that, or leave the group at `min_count: 0` until then: with Continuous "
                "provisioning its nodes come when the plan begins",
            )
        ]
    return []


def _training_plan_zone(plan: TrainingPlan, need: CapacityNeed) -> list[Problem]:
    if need.zone is None or not plan.zones or need.zone in plan.zones:
        return []
    zones = ", ".join(plan.zones)
    return [
        Problem(
            code=CheckCode.PLAN_ZONE,
            path=need.path,
            message=f"the training plan {plan.name} has its instances in {zones}, and {need.owner} stands in "
            f"{need.zone}",
            value=need.zone,
            allowed=zones,
            remedy=f"put it into {zones} with `az`; a file system that it mounts must be there too",
        )
    ]


def _training_plan_kind(plan: TrainingPlan, need: CapacityNeed, target: str) -> list[Problem]:
    found: list[Problem] = []
    if plan.instance_types and not set(plan.instance_types) & set(need.instance_types):
        types = ", ".join(plan.instance_types)
        found.append(
            Problem(
                code=CheckCode.PLAN_TYPE,
                path=need.path,
                message=f"the training plan {plan.name} is of {types}, and {need.owner} asks for "
                f"{', '.join(need.instance_types)}",
                value=need.instance_types[0] if need.instance_types else None,
                allowed=types,
                remedy=f"write `type: {plan.instance_types[0]}`, or name another plan",
            )
        )
    if plan.targets and target not in plan.targets:
        found.append(
            Problem(
                code=CheckCode.PLAN_TYPE,
                path=need.path,
                message=f"the training plan {plan.name} was bought for {', '.join(plan.targets)}, and {need.owner} is "
                f"a {target}",
                value=", ".join(plan.targets),
                allowed=target,
                remedy=f"buy one whose target resource is {target}: a plan's use cannot be changed",
            )
        )
    return found


def _count(plan: TrainingPlan, need: CapacityNeed) -> list[Problem]:
    if plan.available is None or need.count <= plan.available or plan.status == "Scheduled":
        return []
    return [
        Problem(
            code=CheckCode.PLAN_COUNT,
            path=need.path,
            message=f"{need.owner} takes {need.count} more instances of the training plan {plan.name}, which has "
            f"{plan.available} free of {plan.total}",
            value=need.count,
            allowed=f"up to {plan.available}",
            remedy=f"write `count: {plan.available}` or less, free instances in another cluster, or buy a larger plan",
        )
    ]


def check_offering(
    instance_type: str,
    zones: Sequence[str],
    *,
    offered: Collection[str],
    owner: str,
    path: tuple[PathPart, ...] = (),
    indication: bool = False,
    region: str,
) -> list[Problem]:
    """Return a problem where the type is offered in none, or not in all, of `zones` (AZ ids).

    `offered`: the AZ ids in which EC2 offers it. `indication`: SageMaker has its own stock, and EC2 only hints at it.
    """
    missing = [zone for zone in zones if zone not in offered]
    if not missing:
        return []
    hint = (
        "; SageMaker rents it out from a stock of its own, so this is an indication, and a training plan tells surely"
        if indication
        else ""
    )
    return [
        Problem(
            code=CheckCode.NOT_OFFERED,
            path=path,
            message=f"{owner} is to run on {instance_type} in {', '.join(missing)}, where EC2 does not offer it{hint}",
            value=instance_type,
            allowed=", ".join(sorted(offered)) or f"no AZ of {region}",
            remedy=f"put it into one of {', '.join(sorted(offered))}, with the file systems that it mounts"
            if offered
            else f"take another instance type, or another region than {region}",
        )
    ]


def check_zones_of_account(zones: Sequence[str], *, there: Collection[str], region: str) -> list[Problem]:
    """Return a problem for each AZ id that the account does not have in `region`."""
    return [
        Problem(
            code=CheckCode.ZONE_OF_ACCOUNT,
            path=("network",),
            message=f"this account has no AZ {zone} in {region}",
            value=zone,
            allowed=", ".join(sorted(there)),
            remedy=f"write one of {', '.join(sorted(there))}" if there else f"name another region than {region}",
        )
        for zone in zones
        if zone not in there
    ]


def check_endpoint_zones(
    placed: Mapping[str, Sequence[str]],
    *,
    offered: Mapping[str, Collection[str]],
    without: Mapping[str, Sequence[str]],
    region: str,
) -> list[Problem]:
    """Return a problem for each AZ that is to have interfaces of endpoints whose service is not offered there.

    `placed`: the AZ ids in which each endpoint is to have one. `offered`: those in which its service is offered.
    `without`: what the fleet file leaves out already. EC2 refuses such an endpoint ("does not support the availability
    zone of the subnet", aws/aws-cdk#4912), and the network is rolled back.
    """
    lacking: dict[str, list[str]] = {}
    for name, zones in placed.items():
        for zone in zones:
            if zone not in offered.get(name, ()):
                lacking.setdefault(zone, []).append(name)
    return [
        Problem(
            code=CheckCode.ENDPOINT_NOT_OFFERED,
            path=("network",),
            message=f"AWS does not offer the endpoint services {', '.join(names)} in {zone} of {region}",
            value=", ".join(names),
            allowed="services that `aws ec2 describe-vpc-endpoint-services` lists with the AZ",
            remedy=f"write `without_endpoints: {{{zone}: [{', '.join([*without.get(zone, ()), *names])}]}}`; "
            "interfaces in another AZ of the network answer for this one",
        )
        for zone, names in lacking.items()
    ]
