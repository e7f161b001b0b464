"""ParallelCluster's configuration of a cluster, rendered: its nodes, their scripts, its storage and its settings.

The functions are pure: the same cluster gives the same map, and tokens stay unresolved. Numbers and booleans keep their
types, although CloudFormation converts both to strings for the provider; ParallelCluster's schema reads either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from llm_fleet.rules.lustre_network import EfaClients
from llm_fleet.rules.parallelcluster.cluster_settings import is_unchecked
from llm_fleet.rules.parallelcluster.nodes import efa_of, exclusive_of, has_home_of_its_own, placement_group_of
from llm_fleet.rules.parallelcluster.schema_sections import STORAGE_SECTIONS
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.rules.terms import InternalStorage
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SharedStorage, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import Dcv, HeadNode, LoginPool, RootVolume
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, ComputeResource, PlacementGroup, Queue
from llm_fleet.spec.references import SECRET
from llm_fleet.spec.slurm_database import Accounting


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeScript:
    """A script and its arguments (`Script`, `Args`). Arguments are logged: they must not contain secrets."""

    script: str
    """Its `s3://…` URI."""
    args: Sequence[str] = ()
    """Its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHooks:
    """The scripts of a head node or a login pool (`CustomActions`)."""

    on_node_configured: NodeScript | None = None
    """After ParallelCluster has configured the node. Its URI and arguments can never be changed."""
    on_node_updated: NodeScript | None = None
    """After an update of the cluster. It may change with every update."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The scripts of all nodes (`CustomActions`)."""

    head_node: NodeHooks = field(default_factory=NodeHooks)
    queues: Mapping[str, NodeScript] = field(default_factory=dict[str, NodeScript])
    """`OnNodeConfigured` by queue; nodes are replaced when it changes (`QueueUpdateStrategy`)."""
    login_pools: Mapping[str, NodeHooks] = field(default_factory=dict[str, NodeHooks])
    """By login pool."""


def efa_clients(shape: PlacedParallelCluster) -> list[EfaClients]:
    """Return the nodes of queues, by compute resource; head and login nodes have no EFA."""
    known = not is_unresolved(shape.os) and not is_unchecked(shape.os)
    return [
        EfaClients(
            name=f"{queue.name}/{resource.name}",
            instance_types=resource.types,
            nodes=resource.max_count,
            efa=efa_of(resource),
            system=shape.os if known else None,
        )
        for queue in shape.queues
        for resource in queue.compute_resources
    ]


def pruned(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return `section` without `None`, empty sections and empty lists."""
    return {key: value for key, value in section.items() if not _is_empty(value)}


def merged(rendered: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return `rendered` with `overrides`: sections merged, items appended, any other value replaced."""
    result = dict(rendered)
    for key, value in overrides.items():
        result[key] = _merged_value(result.get(key), value)
    return result


def _merged_value(below: Any, above: Any) -> Any:
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return merged(below, above)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(below, list) and isinstance(above, list):
        return [*below, *above]
    return above


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, dict | list) and not value)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePolicies:
    """ARNs of managed policies (`Iam/AdditionalIamPolicies`); the provider attaches those named `parallelcluster…`."""

    head_node: Sequence[str] = ()
    queues: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """By queue."""
    login_pools: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """By login pool."""


_NO_ONE = "127.0.0.1/32"
"""A CIDR block without traffic: without one, ParallelCluster allows the whole internet."""


def render_local_storage(root_volume: RootVolume | None, scratch_mount_dir: str | None) -> dict[str, Any]:
    """Return `LocalStorage`. It sets the root volume's encryption explicitly, for auditors."""
    return pruned(
        {
            "RootVolume": _root_volume(root_volume),
            "EphemeralVolume": None if scratch_mount_dir is None else {"MountDir": scratch_mount_dir},
        }
    )


def _root_volume(volume: RootVolume | None) -> dict[str, Any]:
    if volume is None:
        return {"Encrypted": True}
    return pruned(
        {
            "Size": volume.size_gib,
            "VolumeType": volume.volume_type,
            "Iops": volume.iops,
            "Throughput": volume.throughput_mib_s,
            "Encrypted": True if volume.encrypted is None else volume.encrypted,
        }
    )


def render_dcv(dcv: Dcv | None) -> dict[str, Any] | None:
    """Return `Dcv`."""
    if dcv is None:
        return None
    return pruned({"Enabled": True, "Port": dcv.port, "AllowedIps": dcv.allowed_ips or _NO_ONE})


def render_ssh(allowed_ips: str | None, key_name: str | None = None) -> dict[str, Any]:
    """Return `Ssh`."""
    return pruned({"KeyName": key_name, "AllowedIps": allowed_ips or _NO_ONE})


def render_placement_group(group: PlacementGroup | None) -> dict[str, Any] | None:
    """Return `PlacementGroup`."""
    return None if group is None else pruned({"Enabled": group.enabled, "Name": group.name})


def render_reservation(reservation: CapacityReservation | None) -> dict[str, Any] | None:
    """Return `CapacityReservationTarget`."""
    if reservation is None:
        return None
    return pruned(
        {
            "CapacityReservationId": reservation.reservation_id,
            "CapacityReservationResourceGroupArn": reservation.resource_group_arn,
        }
    )


def render_gpu_health_check(enabled: bool | None) -> dict[str, Any] | None:
    """Return `HealthChecks`."""
    return None if enabled is None else {"Gpu": {"Enabled": enabled}}


def render_image(image_id: str | None) -> dict[str, Any] | None:
    """Return `Image` of a kind of nodes."""
    return None if image_id is None else {"CustomAmi": image_id}


def render_tags(tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return `Tags`."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def render_policies(arns: Sequence[str], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return `Iam` with the policies `arns`.

    They are omitted if `overrides` set the user's own role or profile: ParallelCluster accepts no policies with it, and
    the role must have the permissions of the nodes.
    """
    own = _section(overrides, "Iam")
    if own.get("InstanceRole") or own.get("InstanceProfile"):
        return {}
    return pruned({"AdditionalIamPolicies": [{"Policy": arn} for arn in arns]})


def render_security_groups(ids: Sequence[str], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of `Networking` with the security groups `ids`, in addition to ParallelCluster's own.

    If `overrides` set `SecurityGroups` instead of ParallelCluster's, `ids` are appended to them: ParallelCluster
    accepts no others.
    """
    replaced = bool(_section(overrides, "Networking").get("SecurityGroups"))
    return {"SecurityGroups" if replaced else "AdditionalSecurityGroups": list(ids)}


def _section(overrides: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    given = overrides.get(name)
    return cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}


def render_script(script: NodeScript | None) -> dict[str, Any] | None:
    """Return one of `CustomActions`.

    `Args` is always set: ParallelCluster's custom_action_executor.py on the node reads it for every script.
    """
    return None if script is None else {"Script": script.script, "Args": list(script.args)}


def render_head_node(head: HeadNode, hooks: Hooks, policies: NodePolicies) -> dict[str, Any]:
    """Return `HeadNode`."""
    on_efs = head.internal_storage is InternalStorage.EFS
    rendered = {
        "InstanceType": str(head.instance_type),
        "DisableSimultaneousMultithreading": not head.hyperthreading or None,
        "Networking": pruned(
            {
                "SubnetId": head.subnet_id,
                "ElasticIp": head.elastic_ip or None,
                **render_security_groups(head.security_group_ids, head.overrides),
            }
        ),
        "Ssh": render_ssh(head.allowed_ips, head.key_name),
        "LocalStorage": render_local_storage(head.root_volume, head.scratch_mount_dir),
        "SharedStorageType": head.internal_storage.value,
        "SharedStorageEfsSettings": {"Encrypted": True} if on_efs else None,
        "Dcv": render_dcv(head.dcv),
        "CustomActions": pruned(
            {
                "OnNodeConfigured": render_script(hooks.head_node.on_node_configured),
                "OnNodeUpdated": render_script(hooks.head_node.on_node_updated),
            }
        ),
        "Iam": render_policies(policies.head_node, head.overrides),
        "Imds": {"Secured": head.imds_secured},
        "Image": render_image(head.image_id),
    }
    return merged(pruned(rendered), head.overrides)


def render_login_pool(pool: LoginPool, head: HeadNode, hooks: Hooks, policies: NodePolicies) -> dict[str, Any]:
    """Return one of `LoginNodes/Pools`; without a subnet of its own it is in the head node's."""
    subnet_id = pool.subnet_id or head.subnet_id
    actions = hooks.login_pools.get(pool.name, NodeHooks())
    rendered = {
        "Name": pool.name,
        "InstanceType": str(pool.instance_type),
        "Count": pool.count,
        "GracetimePeriod": pool.gracetime_minutes,
        "Networking": pruned(
            {
                "SubnetIds": [subnet_id] if subnet_id is not None else None,
                **render_security_groups(pool.security_group_ids, pool.overrides),
            }
        ),
        "Ssh": render_ssh(pool.allowed_ips),
        "Dcv": render_dcv(pool.dcv),
        "CustomActions": pruned(
            {
                "OnNodeConfigured": render_script(actions.on_node_configured),
                "OnNodeUpdated": render_script(actions.on_node_updated),
            }
        ),
        "Iam": render_policies(policies.login_pools.get(pool.name, ()), pool.overrides),
        "Image": render_image(pool.image_id),
    }
    return merged(pruned(rendered), pool.overrides)


def render_compute_resource(queue: Queue, resource: ComputeResource) -> dict[str, Any]:
    """Return one of `ComputeResources`."""
    rendered = {
        "Name": resource.name,
        **_instances(queue, resource),
        "MinCount": resource.min_count,
        "MaxCount": resource.max_count,
        "SpotPrice": resource.spot_price,
        "Efa": _efa(resource),
        "DisableSimultaneousMultithreading": not resource.hyperthreading or None,
        "SchedulableMemory": resource.schedulable_memory_mib,
        "CapacityReservationTarget": render_reservation(resource.capacity_reservation),
        "Networking": pruned({"PlacementGroup": _placement_group(queue, resource)}),
        "HealthChecks": render_gpu_health_check(resource.gpu_health_check),
        "CustomSlurmSettings": dict(resource.custom_slurm_settings),
        "Tags": render_tags(resource.tags),
        "StaticNodePriority": resource.static_node_priority,
        "DynamicNodePriority": resource.dynamic_node_priority,
    }
    return merged(pruned(rendered), resource.overrides)


def _instances(queue: Queue, resource: ComputeResource) -> dict[str, Any]:
    """ParallelCluster rejects `InstanceType` in several subnets (its SingleInstanceTypeSubnetValidator)."""
    names = [str(name) for name in resource.types]
    if len(names) == 1 and len(queue.subnet_ids) <= 1:
        return {"InstanceType": names[0]}
    return {"Instances": [{"InstanceType": name} for name in names]}


def _efa(resource: ComputeResource) -> dict[str, Any] | None:
    """An explicit `False` is rendered: it shows in the configuration that EFA is off on purpose."""
    enabled = efa_of(resource)
    return {"Enabled": enabled} if enabled or resource.efa is not None else None


def _placement_group(queue: Queue, resource: ComputeResource) -> dict[str, Any] | None:
    """The queue's own word is not said again."""
    if resource.placement_group is None and queue.placement_group is not None:
        return None
    return render_placement_group(placement_group_of(queue, resource))


def render_queue(queue: Queue, hooks: Hooks, policies: NodePolicies) -> dict[str, Any]:
    """Return one of `SlurmQueues`."""
    rendered = {
        "Name": queue.name,
        "CapacityType": queue.capacity_type.value,
        "AllocationStrategy": None if queue.allocation_strategy is None else queue.allocation_strategy.value,
        "JobExclusiveAllocation": exclusive_of(queue) or queue.exclusive,
        "ComputeResources": [render_compute_resource(queue, resource) for resource in queue.compute_resources],
        "ComputeSettings": {"LocalStorage": render_local_storage(queue.root_volume, queue.scratch_mount_dir)},
        "Networking": pruned(
            {
                "SubnetIds": list(queue.subnet_ids),
                **render_security_groups(queue.security_group_ids, queue.overrides),
                "AssignPublicIp": queue.assign_public_ip,
                "PlacementGroup": render_placement_group(queue.placement_group),
            }
        ),
        "CapacityReservationTarget": render_reservation(queue.capacity_reservation),
        "HealthChecks": render_gpu_health_check(queue.gpu_health_check),
        "CustomActions": pruned({"OnNodeConfigured": render_script(hooks.queues.get(queue.name))}),
        "Iam": render_policies(policies.queues.get(queue.name, ()), queue.overrides),
        "Image": render_image(queue.image_id),
        "CustomSlurmSettings": dict(queue.custom_slurm_settings),
        "Tags": render_tags(queue.tags),
    }
    return merged(pruned(rendered), queue.overrides)


def render_slurm_settings(slurm: SlurmSettings, accounting: Accounting | None) -> dict[str, Any]:
    """Return `SlurmSettings`."""
    rendered = {
        "ScaledownIdletime": slurm.scaledown_idletime_minutes,
        "QueueUpdateStrategy": slurm.queue_update_strategy.value,
        "EnableMemoryBasedScheduling": slurm.memory_based_scheduling or None,
        "CustomSlurmSettings": [dict(lines) for lines in slurm.custom_settings],
        "CustomSlurmSettingsIncludeFile": slurm.custom_settings_file,
        **(_accounting(accounting) if accounting is not None else {}),
    }
    return merged(pruned(rendered), slurm.overrides)


def _accounting(accounting: Accounting) -> dict[str, Any]:
    password, munge_key = (
        None if secret is None else SECRET.name_of(secret)
        for secret in (accounting.password_secret, accounting.munge_key_secret)
    )
    database = {
        "Uri": accounting.database_uri,
        "UserName": accounting.user_name,
        "PasswordSecretArn": password,
        "DatabaseName": accounting.database_name,
    }
    slurmdbd = {"Host": accounting.slurmdbd_host, "Port": accounting.port}
    return {
        "Database": {} if accounting.endpoint is None else pruned(database),
        "ExternalSlurmdbd": {} if accounting.slurmdbd_host is None else pruned(slurmdbd),
        "MungeKeySecretArn": munge_key,
    }


def render_storage(storage: SharedStorage) -> dict[str, Any]:
    """Return one of `SharedStorage`."""
    place = STORAGE_SECTIONS[storage.kind]
    existing = {} if storage.existing_id is None else {place.id_key: storage.existing_id}
    settings = {**existing, **storage.section}
    return {
        "MountDir": storage.mount_dir,
        "Name": storage.name,
        "StorageType": storage.kind.value,
        **({place.section: settings} if settings else {}),
    }


def render_configuration(
    cluster: PlacedParallelCluster, hooks: Hooks | None = None, policies: NodePolicies | None = None
) -> dict[str, Any]:
    """Return `ClusterConfiguration`: no `None`, no empty section, with the user's overrides applied."""
    actions, rights = hooks or Hooks(), policies or NodePolicies()
    rendered = {
        "Region": cluster.region,
        "Image": pruned({"Os": str(cluster.os), "CustomAmi": cluster.image_id}),
        "HeadNode": render_head_node(cluster.head_node, actions, rights),
        "Scheduling": {
            "Scheduler": cluster.scheduler,
            "ScalingStrategy": cluster.slurm.scaling_strategy.value,
            "SlurmSettings": render_slurm_settings(cluster.slurm, cluster.accounting),
            "SlurmQueues": [render_queue(queue, actions, rights) for queue in cluster.queues],
        },
        "LoginNodes": pruned(
            {"Pools": [render_login_pool(pool, cluster.head_node, actions, rights) for pool in cluster.login_pools]}
        ),
        "SharedStorage": [render_storage(storage) for storage in cluster.shared_storage],
        "Monitoring": _monitoring(cluster),
        "Tags": render_tags(cluster.tags),
        "Imds": {"ImdsSupport": "v2.0"},
        "DeploymentSettings": {"DefaultUserHome": "Local"} if has_home_of_its_own(cluster) else None,
    }
    return merged(pruned(rendered), cluster.overrides)


def _monitoring(cluster: PlacedParallelCluster) -> dict[str, Any]:
    logs = {"RetentionInDays": cluster.log_retention_days, "DeletionPolicy": "Retain"}
    return pruned({"DetailedMonitoring": cluster.detailed_monitoring or None, "Logs": {"CloudWatch": logs}})
