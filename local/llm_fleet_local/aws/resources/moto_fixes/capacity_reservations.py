"""Capacity reservations and Capacity Blocks of EC2, which moto lacks: a test adds them to the account.

Source: model botocore ec2 DescribeCapacityReservations
Source: assumption service-error-texts
"""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response

_reservations: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
"""By account and region, then by id; as DescribeCapacityReservations returns them."""


def install() -> None:
    """Serve DescribeCapacityReservations."""
    EC2Response.describe_capacity_reservations = _describe  # type: ignore[attr-defined]


def give_capacity_reservation(account: str, region: str, reported: dict[str, Any]) -> None:
    """Add a reservation to an account: `reported` is as in DescribeCapacityReservations, times in ISO 8601."""
    _reservations.setdefault((account, region), {})[reported["CapacityReservationId"]] = {
        "OwnerId": account,
        **reported,
    }


def _describe(self: Any) -> ActionResult:
    there = _reservations.get((self.current_account, self.region), {})
    requested: list[str] = self._get_param("CapacityReservationIds", []) or list(there)
    missing = [one for one in requested if one not in there]
    if missing:
        raise EC2ClientError(
            "InvalidCapacityReservationId.NotFound", f"The capacity reservation ID '{missing[0]}' does not exist"
        )
    return ActionResult({"CapacityReservations": [there[one] for one in requested]})
