"""Sections of ParallelCluster's configuration that several kinds of nodes have. `pruned` drops what is `None`."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from llm_fleet.parallelcluster.merge_overrides import pruned
from llm_fleet.parallelcluster.node_script import NodeScript
from llm_fleet.spec.parallelcluster_nodes import Dcv, RootVolume
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, PlacementGroup

_NOBODY = "127.0.0.1/32"
"""A block that no packet comes from: without one, ParallelCluster lets the whole internet in."""


def render_local_storage(root_volume: RootVolume | None, scratch_mount_dir: str | None) -> dict[str, Any]:
    """Return `LocalStorage`. It says that the root volume is encrypted, so that whoever audits need not know."""
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
    return pruned({"Enabled": True, "Port": dcv.port, "AllowedIps": dcv.allowed_ips or _NOBODY})


def render_ssh(allowed_ips: str | None, key_name: str | None = None) -> dict[str, Any]:
    """Return `Ssh`."""
    return pruned({"KeyName": key_name, "AllowedIps": allowed_ips or _NOBODY})


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

    Without them where `overrides` give a role or profile of the user's own: ParallelCluster takes no policies beside
    it, and the role must hold what the nodes need.
    """
    own = _section(overrides, "Iam")
    if own.get("InstanceRole") or own.get("InstanceProfile"):
        return {}
    return pruned({"AdditionalIamPolicies": [{"Policy": arn} for arn in arns]})


def render_security_groups(ids: Sequence[str], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of `Networking` with the security groups `ids`, beside ParallelCluster's own.

    Where `overrides` give `SecurityGroups` in place of ParallelCluster's, these join them: it takes no others beside.
    """
    replaced = bool(_section(overrides, "Networking").get("SecurityGroups"))
    return {"SecurityGroups" if replaced else "AdditionalSecurityGroups": list(ids)}


def _section(overrides: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    given = overrides.get(name)
    return cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}


def render_script(script: NodeScript | None) -> dict[str, Any] | None:
    """Return one of `CustomActions`.

    `Args` always: ParallelCluster's custom_action_executor.py on the node reads it of every script.
    """
    return None if script is None else {"Script": script.script, "Args": list(script.args)}
