"""Reserved capacity that a queue takes its instances from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityReservation:
    """Reserved capacity (`CapacityReservationTarget`). Make one with `id` or `resource_group`."""

    reservation_id: str | None = None
    """`CapacityReservationId`."""
    resource_group_arn: str | None = None
    """`CapacityReservationResourceGroupArn`."""

    @classmethod
    def id(cls, reservation_id: str) -> "CapacityReservation":
        """Return an On-Demand Capacity Reservation or a Capacity Block, e.g. `cr-0123456789abcdef0`.

        It must be of the queue's instance type, and in the AZ of the queue's subnet.
        """
        return cls(reservation_id=reservation_id)

    @classmethod
    def resource_group(cls, arn: str) -> "CapacityReservation":
        """Return a service-linked resource group of capacity reservations by its ARN."""
        return cls(resource_group_arn=arn)
