"""Network, capacity and storage of a HyperPod cluster and its groups."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import PurePosixPath

from llm_fleet.catalog.hyperpod import cluster_limit, facts_of, group_limit, hyperpod_facts
from llm_fleet.catalog.network import regions
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.values import check_number, repeated
from llm_fleet.spec.cluster import NodeMount
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup

_IDS = {
    "Subnets": (
        *("subnet", "subnet-", Code.SUBNET_NUMBER),
        "keep the subnets in the AZs of the instances",
    ),
    "SecurityGroupIds": (
        *("security group", "sg-", Code.SECURITY_GROUP_NUMBER),
        "merge their rules into fewer security groups",
    ),
}
"""By the API's name: its noun, the prefix of its ID, and code and remedy when there are too many."""


@rule
def check_cluster_network(cluster: PlacedCluster) -> Iterator[Problem]:
    """Check number and IDs of the cluster's subnets and security groups, and that it has what groups override.

    Subnets and security groups that are resolved at deployment are not checked.
    """
    yield from _check_ids("subnet_ids", "Subnets", cluster.subnet_ids)
    yield from _check_ids("security_group_ids", "SecurityGroupIds", cluster.security_group_ids)
    for group in cluster.groups:
        if not cluster.has_vpc and (group.subnets or group.security_groups):
            yield group.wrong(
                "subnets",
                Code.OVERRIDE_WITHOUT_VPC,
                "a group of a Slurm cluster can have its own subnets only when the cluster is in your VPC",
                "give the cluster a network, or remove the group's subnets and security groups",
                value=list(group.subnet_ids),
            ).under("groups", group.name)


@rule
def check_override(group: InstanceGroup) -> Iterator[Problem]:
    """Check a group's own subnets and security groups: both or neither, and as many as HyperPod allows."""
    subnets, security_groups = group.subnet_ids, group.security_group_ids
    yield from _check_ids("subnets", "Subnets", subnets)
    yield from _check_ids("security_groups", "SecurityGroupIds", security_groups)
    if bool(subnets) != bool(security_groups):
        yield group.wrong(
            "security_groups" if subnets else "subnets",
            Code.OVERRIDE_INCOMPLETE,
            "a group outside the cluster's network requires both `subnets` and `security_groups`",
            "write `security_groups`, too: each must allow all traffic to and from itself"
            if subnets
            else "write `subnets`, too, or remove the security groups",
            value=None,
        )


def _check_ids(attribute: str, field: str, ids: Sequence[str]) -> Iterator[Problem]:
    if not ids:
        return
    what, prefix, code, remedy = _IDS[field]
    limit, member = cluster_limit(f"VpcConfig.{field}"), cluster_limit(f"VpcConfig.{field}[]")
    yield from check_number(len(ids), limit, code, attribute, what=f"the number of {what}s", remedy=remedy)
    for index, one in enumerate(ids):
        if not is_unresolved(one) and not (member.fits(one) and one.startswith(prefix)):
            yield Problem(
                code=Code.SUBNET_ID,
                message=f"this is not the ID of a {what}",
                remedy=f"write the ID, not the name: '{prefix}…'",
                path=(attribute, index),
                value=one,
            )


_PLAN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):sagemaker:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12}):training-plan/[^/]+"
)


@rule
def check_training_plan(group: InstanceGroup) -> Iterator[Problem]:
    """Check that the training plan is an ARN."""
    arn, limit = group.training_plan_arn, group_limit("TrainingPlanArn")
    if arn is None or is_unresolved(arn) or (_PLAN.fullmatch(arn) and limit.holds(len(arn))):
        return
    yield group.wrong(
        "training_plan_arn",
        Code.TRAINING_PLAN_ARN,
        "this is not the ARN of a training plan",
        "write the TrainingPlanArn that `aws sagemaker list-training-plans` shows",
        allowed="arn:<partition>:sagemaker:<region>:<account>:training-plan/<name>",
    )


@rule
def check_training_plan_place(cluster: PlacedCluster, group: InstanceGroup) -> Iterator[Problem]:
    """Check that the training plan is in the cluster's region, AWS partition, account, and AZ when it is given."""
    arn, region = group.training_plan_arn, regions().get(cluster.region or "")
    expected = {
        "region": cluster.region,
        "account": cluster.account,
        "partition": region.partition if region else None,
    }
    found = _PLAN.fullmatch(arn) if arn is not None and not is_unresolved(arn) else None
    for what, wanted in expected.items():
        if found and wanted is not None and not is_unresolved(wanted) and found[what] != wanted:
            yield group.wrong(
                "training_plan_arn",
                Code.TRAINING_PLAN_ELSEWHERE,
                f"the training plan is in {what} {found[what]}, but the cluster is in {wanted}",
                f"use a plan of {wanted}, or move the cluster"
                if what == "region"
                else f"use a plan of {what} {wanted}: plans cannot be shared",
                allowed=f"{what} {wanted}",
            )
    plan, own = group.training_plan_availability_zone_id, cluster.zone_of(group)
    if plan is not None and own is not None and not is_unresolved((plan, own)) and plan != own:
        yield group.wrong(
            "availability_zone_id",
            Code.TRAINING_PLAN_ZONE,
            f"the training plan is in {plan}, but the group is in {own}, where the plan has no instances",
            f"put the group into {plan}; a file system that it mounts must be there, too",
            allowed=plan,
            value=own,
        )


@rule
def check_spot(group: InstanceGroup) -> Iterator[Problem]:
    """Check that a group does not use both Spot and reserved capacity."""
    if group.spot and group.training_plan_arn is not None:
        yield group.wrong(
            "spot",
            Code.SPOT_WITH_PLAN,
            "the group uses both Spot capacity and a training plan, which is already paid for",
            "remove `spot` to use the plan, or remove the plan to use Spot",
            value=True,
        )


@rule
def check_deep_health_checks(group: InstanceGroup) -> Iterator[Problem]:
    """Check number and duplicates of the deep health checks, and that the instances support them.

    AWS's tables of the checks name GPU and Trainium instances only (developer guide).
    """
    checks = group.deep_health_checks
    if not checks:
        return
    yield from check_number(
        len(checks),
        group_limit("OnStartDeepHealthChecks"),
        Code.HEALTH_CHECK_NUMBER,
        "deep_health_checks",
        what="the number of deep health checks",
        remedy="write each of them once",
    )
    for check, count in repeated(checks).items():
        yield group.wrong(
            "deep_health_checks",
            Code.HEALTH_CHECK_NUMBER,
            f"the deep health check {check} is listed {count} times",
            "list it once",
            value=str(check),
        )
    for name in group.types:
        if (facts := facts_of(name)) is not None and facts.accelerator is None:
            yield group.wrong(
                "deep_health_checks",
                Code.HEALTH_CHECK_TYPE,
                f"deep health checks test GPUs, Trainium and their network, but {name} has no accelerator",
                "remove them here; they belong to groups with accelerators",
                value=name,
            )


_CALLED = {"lustre": "FSx for Lustre", "open_zfs": "FSx for OpenZFS"}


@rule
def check_root_volume(*, size_gib: int | None, kms_key_id: str | None) -> Iterator[Problem]:
    """Check an `EbsVolumeConfig` with `RootVolume`: it requires a key, and HyperPod sets its size (100 GB)."""
    if size_gib is not None:
        yield Problem(
            code=Code.ROOT_VOLUME,
            message="the size of the root volume cannot be chosen",
            remedy="remove the size, and give the group a secondary EBS volume for more space",
            path=("size_gib",),
            value=size_gib,
        )
    if kms_key_id is None:
        yield Problem(
            code=Code.ROOT_VOLUME,
            message="the root volume can only be given a KMS key, and none is given",
            remedy="write the KMS key, or remove the root volume: it is then encrypted with an AWS owned key",
            path=("kms_key_id",),
        )


def check_mounts(cluster: PlacedCluster) -> list[Problem]:
    """Check that mounts have a VPC, free paths, and at most one file system of each type."""
    return [
        *_check_vpc(cluster),
        *_check_kinds(cluster.mounts),
        *(problem.under(mount.kind) for mount in cluster.mounts for problem in check_mount_path(mount.mount_path)),
        *_check_overlaps(cluster.mounts),
    ]


@rule
def check_mount_path(path: str) -> Iterator[Problem]:
    """Check that a file system can be mounted at `path`."""
    if is_unresolved(path):
        return
    limit = group_limit("InstanceStorageConfigs[].FsxLustreConfig.MountPath")
    fault = _path_fault(path)
    if fault or not limit.fits(path):
        yield Problem(
            code=Code.MOUNT_PATH,
            message=f"the mount path {fault or 'is not in the format that HyperPod requires'}",
            remedy="write an absolute path of letters, digits, dots, hyphens and underscores, e.g. `/fsx`",
            path=("mount_path",),
            value=path,
            allowed=f"{limit.range} characters",
        )
        return
    hidden = next((taken for taken in hyperpod_facts().taken_mount_paths if paths_overlap(path, taken)), None)
    if hidden is not None:
        yield Problem(
            code=Code.MOUNT_PATH_TAKEN,
            message=f"{path} would hide {hyperpod_facts().taken_mount_paths[hidden]} at {hidden}",
            remedy="mount it elsewhere, e.g. at '/fsx'",
            path=("mount_path",),
            value=path,
        )


def check_mount_zones(cluster: PlacedCluster) -> list[Problem]:
    """Check that each group is in the AZ of the file systems that it mounts.

    A mount across AZs is slow, charged for each gigabyte, and cannot use EFA. Groups that are in the AZ of the
    cluster are reported as one mistake of the cluster.
    """
    apart = [
        (group, zone, mount)
        for group in cluster.groups
        for mount in cluster.mounts
        if group.mounts(mount.kind)
        and not is_unresolved(group.mounts(mount.kind))
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


def _apart(where: str, what: str, zone: str, mount: NodeMount) -> Problem:
    return Problem(
        code=Code.MOUNT_ZONE,
        message=f"{where}, but the {_CALLED[mount.kind]} file system that it mounts is in {mount.availability_zone_id}",
        remedy=f"move the {what} to {mount.availability_zone_id}, or the file system to {zone}",
        path=("availability_zone_id",),
        value=zone,
        allowed=str(mount.availability_zone_id),
    )


def _check_vpc(cluster: PlacedCluster) -> Iterator[Problem]:
    for mount in cluster.mounts if not cluster.has_vpc else ():
        called = _CALLED[mount.kind]
        yield Problem(
            code=Code.MOUNT_WITHOUT_VPC,
            message=f"{called} is in a VPC and the cluster is not, so its nodes cannot reach the file system",
            remedy="give the cluster the network of the file system",
            path=(mount.kind,),
        )


def _check_kinds(mounts: Sequence[NodeMount]) -> Iterator[Problem]:
    for kind, count in repeated(mount.kind for mount in mounts).items():
        yield Problem(
            code=Code.MOUNT_TWICE,
            message=f"a node can mount one {_CALLED[kind]} file system, not {count}",
            remedy="keep one here, and mount the other in an own step",
            path=(kind,),
            value=count,
            allowed="one of each type",
        )


def _check_overlaps(mounts: Sequence[NodeMount]) -> Iterator[Problem]:
    for first, second in combinations(mounts, 2):
        if (
            first.kind != second.kind
            and not is_unresolved((first.mount_path, second.mount_path))
            and not (check_mount_path(first.mount_path) or check_mount_path(second.mount_path))
            and paths_overlap(first.mount_path, second.mount_path)
        ):
            yield Problem(
                code=Code.MOUNT_PATH_TAKEN,
                message=f"{second.mount_path} and {first.mount_path} overlap: one file system would hide the other",
                remedy="mount them at separate paths, e.g. "
                + " and ".join(repr(hyperpod_facts().default_mount_paths[each.kind]) for each in (first, second)),
                path=(second.kind, "mount_path"),
                value=second.mount_path,
            )


def paths_overlap(one: str, other: str) -> bool:
    """Whether one path is the other, or below it."""
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


@rule
def check_volume_keys(group: InstanceGroup, *, continuous: bool) -> Iterator[Problem]:
    """Check that a key has a volume, and that provisioning supports keys."""
    if group.ebs_volume_key is not None and group.ebs_volume_gib is None:
        yield group.wrong(
            "ebs_volume_key",
            Code.CLUSTER_VOLUME_KEY,
            "a KMS key is given for a second volume that the group does not have",
            "give the second volume a size, or use `root_volume_key` to encrypt the root volume",
            value=None,
        )
    for name, key in (("ebs_volume_key", group.ebs_volume_key), ("root_volume_key", group.root_volume_key)):
        if key is not None and not continuous:
            yield group.wrong(
                name,
                Code.CLUSTER_KEY_NOT_CONTINUOUS,
                "HyperPod supports customer managed keys for volumes only with Continuous provisioning",
                "remove `provisioning`, whose default is Continuous, or remove the key",
                value=None,
            )
