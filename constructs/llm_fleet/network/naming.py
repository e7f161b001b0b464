"""Construct ids of AZs."""

from llm_fleet.rules.tokens import is_unresolved


def zone_construct_id(availability_zone_id: str, index: int) -> str:
    """Return the construct id of an AZ: its own id, so that naming another AZ first moves no resource.

    An id known only at deploy time cannot name a construct; its place does.
    """
    return f"Az{index + 1}" if is_unresolved(availability_zone_id) else availability_zone_id
