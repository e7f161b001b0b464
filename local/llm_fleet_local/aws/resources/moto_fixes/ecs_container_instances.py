"""ECS container instances: the capacity provider of each host, and the number of hosts for a service's tasks.

moto does not connect hosts and providers. Here a host of an Auto Scaling group registers with the cluster in its user
data as soon as it is started. A real host can register that early too, so a template must work in this case.
"""

import base64
import re
from typing import Any

from moto.autoscaling.models import FakeAutoScalingGroup, autoscaling_backends
from moto.ecs.models import ecs_backends

_PROVIDER = "_llm_fleet_capacity_provider"
_FROM_ZERO = 2


def joins(group: Any, cluster: str) -> bool:
    """Return whether the user data of a group's hosts names a cluster: as ECS_CLUSTER, or in llm-fleet's scripts."""
    if not group.ec2_launch_template:
        return False
    text = base64.b64decode(str(group.user_data or "")).decode(errors="replace")
    name = re.escape(cluster)
    return re.search(rf"ECS_CLUSTER=['\"]?{name}(?![\w-])|\"cluster\":\s*\"{name}\"", text) is not None


def register_host(group: FakeAutoScalingGroup, instance: Any) -> None:
    """Set the capacity provider that the cluster has for the new host's group now; it is never set later.

    "Instances … that were already running and registered to an Amazon ECS cluster before the Auto Scaling group being
    used to create a capacity provider might not be properly registered with the capacity provider."

    Source: document https://docs.aws.amazon.com/AmazonECS/latest/developerguide/asg-capacity-providers.html (2025-11)
    Source: assumption ecs-hosts-before-their-provider-are-not-used
    """
    backend = ecs_backends[group.autoscaling_backend.account_id][group.autoscaling_backend.region_name]
    names = [
        name
        for cluster in backend.clusters.values()
        if cluster.status == "ACTIVE" and joins(group, str(cluster.name))
        for name in cluster.capacity_providers or ()
        if _group_arn(backend.capacity_providers.get(name)) == group.arn
    ]
    setattr(instance, _PROVIDER, names[0] if names else None)


def hosts_for(response: Any, provider: Any, wanted: int) -> int | None:
    """Return how many hosts a provider has for `wanted` tasks; `None` if it has no Auto Scaling group.

    Managed scaling starts the missing hosts while tasks wait, up to the group's maximum, and counts only hosts of the
    provider. It starts at least two hosts in an empty group, because CapacityProviderReservation is 200 there.

    Source: document https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-auto-scaling.html (2025-11)
    Source: assumption ecs-managed-scaling-starts-from-zero
    """
    groups = autoscaling_backends[response.current_account][response.region].autoscaling_groups
    group = next((one for one in groups.values() if one.arn == _group_arn(provider)), None)
    if group is None:
        return None
    missing = wanted - _belonging(group, provider.name)
    there, most = len(group.instance_states), int(group.max_size or 0)
    if missing > 0 and provider.autoScalingGroupProvider["managedScaling"]["status"] == "ENABLED" and there < most:
        group.set_desired_capacity(min(most, there + (missing if there else max(_FROM_ZERO, missing))))
    return _belonging(group, provider.name)


def _belonging(group: Any, provider: str) -> int:
    return sum(getattr(state.instance, _PROVIDER, None) == provider for state in group.instance_states)


def _group_arn(provider: Any) -> str | None:
    found: dict[str, Any] = getattr(provider, "autoScalingGroupProvider", None) or {}
    return found.get("autoScalingGroupArn")
