"""Values of a ParallelCluster in the fleet file that a user may write in several ways."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, InstanceOf, SkipValidation, WithJsonSchema

from llm_fleet.rules.codes import Code
from llm_fleet.spec.values import IDLE_TIME, wrong_value

NEVER = "never"
_NEVER_MINUTES = -1
_RESERVATION = re.compile(r"cr-[0-9a-f]+")
_GROUP_ARN = re.compile(r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/.+")
_RESERVATION_EXAMPLE = "cr-0123456789abcdef0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Whether instances are placed close together, and in which group (`PlacementGroupLike`)."""

    enabled: bool
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Reserved capacity (`CapacityReservationLike`)."""

    reservation_id: str | None = None
    resource_group_arn: str | None = None


def read_placement(written: Any) -> Placement:
    """Read `true`, `false`, or the name of an existing placement group."""
    if isinstance(written, bool):
        return Placement(enabled=written)
    if isinstance(written, str):
        return Placement(enabled=True, name=written)
    raise wrong_value(
        Code.WRONG_TYPE,
        "true, false or the name of a placement group should stand here",
        allowed="true, false, or the name of a placement group that exists",
        remedy="write `true` to have a placement group made",
    )


def read_reservation(written: Any) -> Reservation:
    """Read the id of a capacity reservation, or the ARN of a resource group of several."""
    if isinstance(written, str):
        if _RESERVATION.fullmatch(written):
            return Reservation(reservation_id=written)
        if _GROUP_ARN.fullmatch(written):
            return Reservation(resource_group_arn=written)
    raise wrong_value(
        Code.TEXT_FORM,
        "this is neither the id of a capacity reservation nor the ARN of a resource group",
        allowed=f"`{_RESERVATION_EXAMPLE}`, or `arn:aws:resource-groups:<region>:<account>:group/<name>`",
        remedy=f"write it whole, e.g. `{_RESERVATION_EXAMPLE}`",
    )


def read_idle_time(written: Any) -> int:
    """Read `10 min`, or `never` for nodes that are not taken down."""
    return _NEVER_MINUTES if written == NEVER else IDLE_TIME.parse(written)


def read_public_address(written: Any) -> bool | str:
    """Read `true`, `false`, or the id of an Elastic IP."""
    if isinstance(written, bool | str):
        return written
    raise wrong_value(
        Code.WRONG_TYPE,
        "true, false or the id of an Elastic IP should stand here",
        allowed="true, false, or `eipalloc-…`",
        remedy="write `true` to have an address made, or remove the key: Session Manager needs none",
    )


PlacementGroup = Annotated[
    InstanceOf[Placement],
    BeforeValidator(read_placement),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string"}]}),
]
"""`true`, `false`, or the name of a placement group that exists."""

CapacityReservation = Annotated[
    InstanceOf[Reservation],
    BeforeValidator(read_reservation),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^({_RESERVATION.pattern}|{_GROUP_ARN.pattern})$",
            "examples": [_RESERVATION_EXAMPLE],
        }
    ),
]
"""The id of a capacity reservation, or the ARN of a resource group of several."""

IdleMinutes = Annotated[
    int,
    BeforeValidator(read_idle_time),
    WithJsonSchema({"anyOf": [IDLE_TIME.json_schema(), {"const": NEVER}]}),
]
"""Minutes, written as `10 min` or `1 h`; `never` is -1."""

PublicAddress = Annotated[
    bool | str,
    SkipValidation,
    BeforeValidator(read_public_address),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^eipalloc-"}]}),
]
"""`true`, `false`, or the id of an Elastic IP."""

GraceMinutes = Annotated[int, IDLE_TIME]
"""Minutes, written as `30 min` or `1 h`."""
