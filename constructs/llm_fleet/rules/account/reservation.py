"""Whether a capacity reservation or a Capacity Block of EC2 gives nodes their instances."""

from dataclasses import dataclass
from datetime import datetime

from llm_fleet.rules.account.capacity import WARNED_BEFORE, CapacityNeed, when
from llm_fleet.rules.day_two.check_codes import CheckCode
from llm_fleet.rules.problem import Problem

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
    return [*_time(reservation, need, now), *_zone(reservation, need), *_kind(reservation, need, now)]


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


def _time(reservation: Reservation, need: CapacityNeed, now: datetime) -> list[Problem]:
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


def _zone(reservation: Reservation, need: CapacityNeed) -> list[Problem]:
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


def _kind(reservation: Reservation, need: CapacityNeed, now: datetime) -> list[Problem]:
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
