"""Volumes and file systems of a HyperPod cluster, and the KMS keys of volumes."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import PurePosixPath

from llm_fleet.catalog.hyperpod import group_limit, hyperpod_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.hyperpod_cluster import Mount, PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup

_CALLED = {"lustre": "FSx for Lustre", "open_zfs": "FSx for OpenZFS"}


def check_root_volume(*, size_gib: int | None, kms_key_id: str | None) -> list[Problem]:
    """Check an `EbsVolumeConfig` with `RootVolume`: it needs a key, and its size is HyperPod's to say (100 GB)."""
    problems: list[Problem] = []
    if size_gib is not None:
        problems.append(
            Problem(
                code=Code.ROOT_VOLUME,
                message="the size of the root volume cannot be chosen",
                remedy="drop the size, and give the group a secondary EBS volume for what needs room",
                path=("size_gib",),
                value=size_gib,
            )
        )
    if kms_key_id is None:
        problems.append(
            Problem(
                code=Code.ROOT_VOLUME,
                message="a root volume is only named to encrypt it, and no KMS key is given",
                remedy="name the KMS key, or drop the root volume: AWS then encrypts it with a key of its own",
                path=("kms_key_id",),
            )
        )
    return problems


def check_mounts(cluster: PlacedCluster) -> list[Problem]:
    """Check that mounts have a VPC, paths that nothing else has, and one file system of each kind."""
    return [
        *_check_vpc(cluster),
        *_check_kinds(cluster.mounts),
        *(problem.under(mount.kind) for mount in cluster.mounts for problem in check_mount_path(mount.mount_path)),
        *_check_overlaps(cluster.mounts),
    ]


def check_mount_path(path: str) -> list[Problem]:
    """Check that a file system may be mounted at `path`."""
    if is_unresolved(path):
        return []
    limit = group_limit("InstanceStorageConfigs[].FsxLustreConfig.MountPath")
    fault = _path_fault(path)
    if fault or not (limit.matches(path) and limit.holds(len(path))):
        return [
            Problem(
                code=Code.MOUNT_PATH,
                message=f"the mount path {fault or 'has not the form that HyperPod asks'}",
                remedy="write an absolute path of letters, digits, dots, hyphens and underscores, e.g. '/fsx'",
                path=("mount_path",),
                value=path,
                allowed=f"{limit.range} characters",
            )
        ]
    hidden = next((taken for taken in hyperpod_facts().taken_mount_paths if paths_overlap(path, taken)), None)
    if hidden is None:
        return []
    return [
        Problem(
            code=Code.MOUNT_PATH_TAKEN,
            message=f"{path} is in the way of {hyperpod_facts().taken_mount_paths[hidden]} at {hidden}",
            remedy="mount it elsewhere, e.g. at '/fsx'",
            path=("mount_path",),
            value=path,
        )
    ]


def check_mount_zones(cluster: PlacedCluster) -> list[Problem]:
    """Check that each group stands in the AZ of the file systems that it mounts.

    A mount across AZs works slowly at best, is billed by the gigabyte, and never has EFA. Groups that stand where the
    cluster does are told as one mistake, the cluster's.
    """
    apart = [
        (group, zone, mount)
        for group in cluster.groups
        for mount in cluster.mounts
        if group.mounts(mount.kind)
        and (zone := cluster.zone_of(group)) is not None
        and mount.availability_zone_id is not None
        and not is_unresolved((zone, mount.availability_zone_id))
        and zone != mount.availability_zone_id
    ]
    zone_of_cluster = cluster.spec.availability_zone_id
    with_cluster = {mount.kind: mount for _, zone, mount in apart if zone == zone_of_cluster}
    return [
        *(
            _apart(f"the cluster is in {zone_of_cluster}", "cluster", str(zone_of_cluster), mount)
            for mount in with_cluster.values()
        ),
        *(
            _apart(f"the group {group.name!r} is in {zone}", "group", zone, mount).under("groups", group.name)
            for group, zone, mount in apart
            if zone != zone_of_cluster
        ),
    ]


def _apart(where: str, what: str, zone: str, mount: Mount) -> Problem:
    return Problem(
        code=Code.MOUNT_ZONE,
        message=f"{where}, and the {_CALLED[mount.kind]} file system that it mounts is in {mount.availability_zone_id}",
        remedy=f"move the {what} to {mount.availability_zone_id}, or the file system to {zone}",
        path=("availability_zone_id",),
        value=zone,
        allowed=str(mount.availability_zone_id),
    )


def _check_vpc(cluster: PlacedCluster) -> list[Problem]:
    if cluster.has_vpc:
        return []
    return [
        Problem(
            code=Code.MOUNT_WITHOUT_VPC,
            message=f"{_CALLED[mount.kind]} stands in a VPC, and the cluster does not, so its nodes cannot reach it",
            remedy="give the cluster the network that the file system stands in",
            path=(mount.kind,),
        )
        for mount in cluster.mounts
    ]


def _check_kinds(mounts: Sequence[Mount]) -> list[Problem]:
    return [
        Problem(
            code=Code.MOUNT_TWICE,
            message=f"a node mounts one {_CALLED[kind]} file system at most, not {count}",
            remedy="keep one here, and mount the other by a script of your own",
            path=(kind,),
            value=count,
            allowed="one of each kind",
        )
        for kind, count in Counter(mount.kind for mount in mounts).items()
        if count > 1
    ]


def _check_overlaps(mounts: Sequence[Mount]) -> list[Problem]:
    return [
        Problem(
            code=Code.MOUNT_PATH_TAKEN,
            message=f"{second.mount_path} and {first.mount_path} overlap: one file system would hide the other",
            remedy="mount them side by side, e.g. at "
            + " and ".join(repr(hyperpod_facts().default_mount_paths[each.kind]) for each in (first, second)),
            path=(second.kind, "mount_path"),
            value=second.mount_path,
        )
        for first, second in combinations(mounts, 2)
        if first.kind != second.kind
        and not is_unresolved((first.mount_path, second.mount_path))
        and not (check_mount_path(first.mount_path) or check_mount_path(second.mount_path))
        and paths_overlap(first.mount_path, second.mount_path)
    ]


def paths_overlap(one: str, other: str) -> bool:
    """Whether one path is the other, or lies within it."""
    first, second = PurePosixPath(one), PurePosixPath(other)
    return first.is_relative_to(second) or second.is_relative_to(first)


def _path_fault(path: str) -> str | None:
    if not path.startswith("/"):
        return "is not absolute"
    if not path.strip("/"):
        return "is the root of the node's own file system"
    if ".." in path.split("/") or "." in path.split("/"):
        return "has a . or .. in it"
    return None


def check_volume_keys(group: InstanceGroup, *, continuous: bool) -> list[Problem]:
    """Check that a key has a volume, and provisioning that takes keys."""
    problems: list[Problem] = []
    if group.ebs_volume_key is not None and group.ebs_volume_gib is None:
        problems.append(
            Problem(
                code=Code.CLUSTER_VOLUME_KEY,
                message="a key is given for a second volume that the group does not have",
                remedy="give the second volume a size, or take the key of the root volume to encrypt that one",
                path=("ebs_volume_key",),
            )
        )
    for name, key in (("ebs_volume_key", group.ebs_volume_key), ("root_volume_key", group.root_volume_key)):
        if key is not None and not continuous:
            problems.append(
                Problem(
                    code=Code.CLUSTER_KEY_NOT_CONTINUOUS,
                    message="HyperPod encrypts volumes with a key of yours only under Continuous provisioning",
                    remedy="leave provisioning at its default, or leave the key out",
                    path=(name,),
                )
            )
    return problems
