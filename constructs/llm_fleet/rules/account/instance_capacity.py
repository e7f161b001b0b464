"""Instance capacity: quotas, offerings by AZ, capacity reservations, training plans."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from llm_fleet.catalog.aws_api import ServiceQuota
from llm_fleet.rules.feature_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem, rule


def request_command(service: str, code: str, desired: float, region: str) -> str:
    """Return the command that requests a quota of `desired`, rounded up, in `region`."""
    return (
        f"aws service-quotas request-service-quota-increase --service-code {service} --quota-code {code} "
        f"--desired-value {ceil(desired)} --region {region}"
    )


WARNED_BEFORE = timedelta(days=1)
"""Capacity that ends within this time is reported. Our choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Need:
    path: tuple[PathPart, ...] = ()
    """The path in the fleet file of the first part that requires it."""

    def wrong(self, code: CheckCode, message: str, remedy: str, *, value: object, allowed: str = "") -> Problem:
        """Return a problem with this path."""
        return Problem(code=code, message=message, remedy=remedy, path=self.path, value=value, allowed=allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityNeed(_Need):
    """The reserved capacity that one part of a fleet requires."""

    owner: str
    instance_types: tuple[str, ...]
    """As the API of the capacity spells them, e.g. `ml.trn1.32xlarge` of a training plan, `p5.48xlarge` of EC2."""
    count: int
    """Instances that are not running yet."""
    zone: str | None = None
    """AZ ID of the instances; `None` when the fleet file leaves it open."""


def when(moment: datetime) -> str:
    """Return a time for a reader, in UTC."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


_COMING = ("scheduled", "pending", "assessing", "delayed", "payment-pending")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """One capacity reservation, as DescribeCapacityReservations returns it."""

    reservation_id: str
    state: str
    instance_type: str
    zone: str | None
    available: int
    total: int
    start: datetime | None = None
    end: datetime | None = None
    is_block: bool = False


@rule
def check_reservation(reservation: Reservation, need: CapacityNeed, *, now: datetime) -> Iterator[Problem]:
    """Return why `need` cannot run on `reservation` now."""
    if reservation.state == "active":
        yield from _reservation_time(reservation, need, now)
        yield from _reservation_fit(reservation, need)
    else:
        yield _reservation_state(reservation, need)


def _name(reservation: Reservation) -> str:
    return f"the {'Capacity Block' if reservation.is_block else 'capacity reservation'} {reservation.reservation_id}"


def _reservation_state(reservation: Reservation, need: CapacityNeed) -> Problem:
    coming = reservation.state in _COMING
    starts = f", and begins at {when(reservation.start)}" if coming and reservation.start else ""
    return need.wrong(
        CheckCode.RESERVATION_STATE,
        f"{_name(reservation)} of {need.owner} is {reservation.state}{starts}",
        "deploy when it is active: until then its instances cannot be launched"
        if coming
        else "write another `reservation`, or remove the key for On-Demand capacity",
        value=reservation.state,
        allowed="active",
    )


def _reservation_time(reservation: Reservation, need: CapacityNeed, now: datetime) -> Iterator[Problem]:
    if reservation.end is None or reservation.end - now >= WARNED_BEFORE:
        return
    early = "; EC2 terminates the instances of a Capacity Block 30 minutes before" if reservation.is_block else ""
    yield need.wrong(
        CheckCode.RESERVATION_TIME,
        f"{_name(reservation)} of {need.owner} ends at {when(reservation.end)}{early}",
        "save checkpoints before it ends, and reserve a longer one with `aws ec2 "
        + ("describe-capacity-block-offerings`" if reservation.is_block else "modify-capacity-reservation`"),
        value=when(reservation.end),
    )


def _reservation_fit(reservation: Reservation, need: CapacityNeed) -> Iterator[Problem]:
    if need.zone is not None and reservation.zone is not None and need.zone != reservation.zone:
        yield need.wrong(
            CheckCode.RESERVATION_ZONE,
            f"{_name(reservation)} is in {reservation.zone}, but {need.owner} is in {need.zone}",
            f"write `az: {reservation.zone}`; a file system that it mounts must be there, too",
            value=need.zone,
            allowed=reservation.zone,
        )
    if need.instance_types and reservation.instance_type not in need.instance_types:
        yield need.wrong(
            CheckCode.RESERVATION_TYPE,
            f"{_name(reservation)} is for {reservation.instance_type}, but {need.owner} uses "
            f"{', '.join(need.instance_types)}",
            f"write `type: {reservation.instance_type}`, or write another reservation",
            value=need.instance_types[0],
            allowed=reservation.instance_type,
        )
    if need.count > reservation.available:
        yield need.wrong(
            CheckCode.RESERVATION_COUNT,
            f"{need.owner} requires up to {need.count} more instances of {_name(reservation)}, which has "
            f"{reservation.available} free of {reservation.total}",
            f"write `max: {reservation.available}` or less, release instances of it, or reserve more",
            value=need.count,
            allowed=f"up to {reservation.available}",
        )


_GOOD = ("Active", "Scheduled")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """One training plan, as DescribeTrainingPlan returns it."""

    name: str
    status: str
    start: datetime | None = None
    end: datetime | None = None
    zones: tuple[str, ...] = ()
    """AZ IDs of its reserved capacity."""
    instance_types: tuple[str, ...] = ()
    available: int | None = None
    """Unused instances."""
    total: int | None = None
    targets: tuple[str, ...] = ()
    """Its target resources, e.g. `hyperpod-cluster`."""


@rule
def check_training_plan(plan: TrainingPlan, need: CapacityNeed, *, now: datetime, target: str) -> Iterator[Problem]:
    """Return why `need` cannot run on `plan` now. `target`: the target resource of `need`, e.g. `hyperpod-cluster`."""
    if plan.status not in _GOOD:
        yield _status(plan, need)
    else:
        yield from _training_plan_time(plan, need, now)
        yield from _training_plan_fit(plan, need, target)


def _status(plan: TrainingPlan, need: CapacityNeed) -> Problem:
    return need.wrong(
        CheckCode.PLAN_STATUS,
        f"the training plan {plan.name} of {need.owner} is {plan.status} and provides no capacity",
        "wait until it is active: payment or setup is pending"
        if plan.status == "Pending"
        else "buy another with `aws sagemaker search-training-plan-offerings` and `create-training-plan`, and "
        "write its ARN",
        value=plan.status,
        allowed=" or ".join(_GOOD),
    )


def _training_plan_time(plan: TrainingPlan, need: CapacityNeed, now: datetime) -> Iterator[Problem]:
    if plan.end is not None and plan.end - now < WARNED_BEFORE:
        over = "ended" if plan.end <= now else "ends"
        yield need.wrong(
            CheckCode.PLAN_TIME,
            f"the training plan {plan.name} of {need.owner} {over} at {when(plan.end)}, and its instances are "
            "terminated then",
            "buy one that lasts longer, or extend this one with `aws sagemaker extend-training-plan`, and "
            "save checkpoints before it ends",
            value=when(plan.end),
        )
    elif plan.start is not None and plan.start > now:
        yield need.wrong(
            CheckCode.PLAN_TIME,
            f"the training plan {plan.name} of {need.owner} begins only at {when(plan.start)}",
            "deploy after that, or write `min_count: 0` for the group until then: with Continuous "
            "provisioning its nodes start when the plan begins",
            value=when(plan.start),
        )


def _training_plan_fit(plan: TrainingPlan, need: CapacityNeed, target: str) -> Iterator[Problem]:
    if need.zone is not None and plan.zones and need.zone not in plan.zones:
        zones = ", ".join(plan.zones)
        yield need.wrong(
            CheckCode.PLAN_ZONE,
            f"the training plan {plan.name} has its instances in {zones}, but {need.owner} is in {need.zone}",
            f"write `az: {zones}`; a file system that it mounts must be there, too",
            value=need.zone,
            allowed=zones,
        )
    if plan.instance_types and not set(plan.instance_types) & set(need.instance_types):
        types = ", ".join(plan.instance_types)
        yield need.wrong(
            CheckCode.PLAN_TYPE,
            f"the training plan {plan.name} is for {types}, but {need.owner} uses {', '.join(need.instance_types)}",
            f"write `type: {plan.instance_types[0]}`, or write another plan",
            value=need.instance_types[0] if need.instance_types else None,
            allowed=types,
        )
    if plan.targets and target not in plan.targets:
        yield need.wrong(
            CheckCode.PLAN_TYPE,
            f"the training plan {plan.name} is for {', '.join(plan.targets)}, but {need.owner} is a {target}",
            f"buy one whose target resource is {target}: the target of a plan cannot be changed",
            value=", ".join(plan.targets),
            allowed=target,
        )
    if plan.available is not None and need.count > plan.available and plan.status != "Scheduled":
        yield need.wrong(
            CheckCode.PLAN_COUNT,
            f"{need.owner} requires {need.count} more instances of the training plan {plan.name}, which has "
            f"{plan.available} free of {plan.total}",
            f"write `count: {plan.available}` or less, release instances in another cluster, or buy a larger plan",
            value=need.count,
            allowed=f"up to {plan.available}",
        )


@rule
def check_offering(
    instance_type: str,
    zones: Sequence[str],
    *,
    offered: Collection[str],
    owner: str,
    path: tuple[PathPart, ...] = (),
    indication: bool = False,
    region: str,
) -> Iterator[Problem]:
    """Return a problem when the type is not offered in all of `zones` (AZ IDs).

    `offered`: the AZ IDs in which EC2 offers it. `indication`: for SageMaker, whose capacity is separate from EC2's.
    """
    missing = [zone for zone in zones if zone not in offered]
    if not missing:
        return
    hint = (
        ". SageMaker capacity is separate from EC2, so this is only an indication; a training plan guarantees capacity"
        if indication
        else ""
    )
    yield Problem(
        code=CheckCode.NOT_OFFERED,
        path=path,
        message=f"{owner} uses {instance_type} in {', '.join(missing)}, where EC2 does not offer it{hint}",
        value=instance_type,
        allowed=", ".join(sorted(offered)) or f"no AZ of {region}",
        remedy=f"write one of these AZs: {', '.join(sorted(offered))}, for it and the file systems that it mounts"
        if offered
        else f"write another instance type, or another region than {region}",
    )


@rule
def check_zones_of_account(zones: Sequence[str], *, there: Collection[str], region: str) -> Iterator[Problem]:
    """Return a problem for each AZ ID that the account does not have in `region`."""
    for zone in zones:
        if zone not in there:
            yield Problem(
                code=CheckCode.ZONE_OF_ACCOUNT,
                path=("network",),
                message=f"this account has no AZ {zone} in {region}",
                value=zone,
                allowed=", ".join(sorted(there)),
                remedy=f"write one of {', '.join(sorted(there))}" if there else f"write another region than {region}",
            )


@rule
def check_endpoint_zones(
    placed: Mapping[str, Sequence[str]],
    *,
    offered: Mapping[str, Collection[str]],
    without: Mapping[str, Sequence[str]],
    region: str,
) -> Iterator[Problem]:
    """Return a problem for each AZ that gets VPC endpoints whose service is not offered there.

    `placed`: the AZ IDs in which each endpoint gets an interface. `offered`: those in which its service is offered.
    `without`: what the fleet file excludes already. EC2 rejects such an endpoint ("does not support the availability
    zone of the subnet", aws/aws-cdk#4912), and the network is rolled back.
    """
    lacking: dict[str, list[str]] = {}
    for name, zones in placed.items():
        for zone in zones:
            if zone not in offered.get(name, ()):
                lacking.setdefault(zone, []).append(name)
    for zone, names in lacking.items():
        yield Problem(
            code=CheckCode.ENDPOINT_NOT_OFFERED,
            path=("network",),
            message=f"AWS does not offer the endpoint services {', '.join(names)} in {zone} of {region}",
            value=", ".join(names),
            allowed="services that `aws ec2 describe-vpc-endpoint-services` lists with the AZ",
            remedy=f"write `without_endpoints: {{{zone}: [{', '.join([*without.get(zone, ()), *names])}]}}`; "
            "nodes then use the interfaces in another AZ of the network",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaNeed(_Need):
    """The share of one quota that a fleet requires."""

    quota: ServiceQuota
    amount: float
    """In the unit of the quota: instances, vCPUs, GiB …"""
    owners: tuple[str, ...]
    """The parts of the fleet that require it, for the message."""
    adds_up: bool = True
    """Whether current use counts, too; not when the quota is for one resource, e.g. the size of a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaGranted:
    """One quota, as Service Quotas returns it."""

    code: str
    value: float
    in_use: float | None = None
    """Current use outside the fleet; `None` when AWS does not report it."""
    adjustable: bool = True
    requested_for: float | None = None
    """The value of a pending increase request; `None` without one."""


@rule
def check_quota(need: QuotaNeed, granted: QuotaGranted | None, *, region: str) -> Iterator[Problem]:
    """Return a problem when the quota is too small. `granted`: `None` when AWS has no such quota."""
    if granted is None:
        yield _unknown(need, region)
        return
    used = (granted.in_use or 0) if need.adds_up else 0
    if need.amount + used <= granted.value:
        return
    in_words = need.quota.in_words
    in_use = f", and {in_words(used)} {'is' if used == 1 else 'are'} already in use" if used else ""
    yield need.wrong(
        CheckCode.QUOTA,
        f"{', '.join(need.owners)} {'require' if len(need.owners) > 1 else 'requires'} {in_words(need.amount)}"
        f"{in_use}; the quota `{need.quota.name}` ({granted.code}) of the account is {in_words(granted.value)}",
        _remedy(need, granted, need.amount + used, region),
        value=int(granted.value) if granted.value == int(granted.value) else granted.value,
        allowed=f"a quota of at least {in_words(need.amount + used)}",
    )


def _remedy(need: QuotaNeed, granted: QuotaGranted, wanted: float, region: str) -> str:
    if not granted.adjustable:
        return "AWS does not increase this quota: make the fleet smaller, or use another account or Region"
    if granted.requested_for is not None and granted.requested_for >= wanted:
        requested = need.quota.in_words(granted.requested_for)
        return f"an increase to {requested} is already requested: wait until AWS grants it"
    return f"request an increase with `{request_command(need.quota.service, granted.code, wanted, region)}`"


def _unknown(need: QuotaNeed, region: str) -> Problem:
    quota = need.quota
    return need.wrong(
        CheckCode.QUOTA_UNKNOWN,
        f"{', '.join(need.owners)} {'require' if len(need.owners) > 1 else 'requires'} the quota `{quota.name}`, "
        f"which Service Quotas does not have in {region}",
        "check whether the type is offered there with `aws service-quotas list-aws-default-service-quotas "
        f"--service-code {quota.service} --region {region}`; if it is not, write another type or region",
        value=quota.name,
    )
