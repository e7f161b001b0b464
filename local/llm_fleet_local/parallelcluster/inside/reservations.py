"""The capacity reservations in a configuration, as EC2 would describe them."""

from typing import Any

from pcluster.aws.aws_api import AWSApi

from llm_fleet_local.parallelcluster import named
from llm_fleet_local.parallelcluster.inside.account_context import AccountContext

# Instance type of a Capacity Block, if neither the configuration nor the context has it.
DEFAULT_TYPE = "p5.48xlarge"


def reservations(
    configuration: dict[str, Any], account_context: AccountContext, platform: str
) -> dict[str, dict[str, Any]]:
    """Return each reservation by id, with the type and count of its compute resource, in its queue's AZ.

    A resource group holds one reservation for each compute resource that names the group.
    """
    found: dict[str, dict[str, Any]] = {}
    for queue in named.queues(configuration):
        for resource in named.compute_resources(queue):
            target = resource.get("CapacityReservationTarget") or queue.get("CapacityReservationTarget") or {}
            name, group = target.get("CapacityReservationId"), target.get("CapacityReservationResourceGroupArn")
            if not (name or group):
                continue
            for number, instance_type in enumerate(named.instance_types(resource) or [DEFAULT_TYPE]):
                reservation_id = str(name) if name else f"cr-{len(found) + number:017x}"
                found.setdefault(
                    reservation_id, _reservation(reservation_id, group, instance_type, queue, resource, platform)
                )
    for name, facts in account_context.reservations.items():
        found[name] = found.get(name, {"CapacityReservationId": name, "group": None}) | facts
    return found


def _reservation(
    name: str,
    group: str | None,
    instance_type: str,
    queue: dict[str, Any],
    resource: dict[str, Any],
    platform: str,
) -> dict[str, Any]:
    block = queue.get("CapacityType") == "CAPACITY_BLOCK"
    count = int(resource.get("MaxCount") or 10)
    return {
        "CapacityReservationId": name,
        "CapacityReservationArn": f"arn:aws:ec2:us-west-2:123456789012:capacity-reservation/{name}",
        "State": "active",
        "InstanceType": instance_type,
        "InstancePlatform": platform,
        "AvailabilityZone": _zone(queue),
        "TotalInstanceCount": count,
        "AvailableInstanceCount": count,
        "group": group,
    } | ({"ReservationType": "capacity-block"} if block else {})


def _zone(queue: dict[str, Any]) -> str | None:
    subnets = named.values(queue, "SubnetIds")
    try:
        return AWSApi.instance().ec2.get_subnet_avail_zone(subnets[0]) if subnets else None
    except Exception:
        # Another validator reports a subnet that does not exist.
        return None
