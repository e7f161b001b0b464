"""What only the construct can know to be wrong with a cluster: keys, interfaces and CloudFormation's own gaps.

The rules of HyperPod (`llm_fleet.rules.hyperpod_…`) check everything else, for the fleet file as well.
"""

from collections.abc import Iterator
from pathlib import Path

from llm_fleet.catalog.instance_type import facts_of
from llm_fleet.hyperpod.cloudformation_gaps import cloudformation_gaps
from llm_fleet.hyperpod.cluster_shape import ClusterShape
from llm_fleet.hyperpod.instance_group import InstanceGroup
from llm_fleet.hyperpod.legacy_config import legacy_problems
from llm_fleet.hyperpod.lifecycle_scripts import LifecycleScripts
from llm_fleet.lifecycle.script_folder import default_folder
from llm_fleet.rules.bundle import bucket_name
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_cluster import check_cluster
from llm_fleet.rules.hyperpod_lifecycle import check_lifecycle_source
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def cluster_problems(cluster: ClusterShape, lifecycle: LifecycleScripts | None) -> list[Problem]:
    """Return everything that is wrong with `cluster`, by the rules and by what only the construct knows."""
    by_rules = [problem for problem in check_cluster(cluster) if not _of_unmounted(problem, cluster)]
    return by_rules + construct_checks(cluster, lifecycle)


def construct_checks(cluster: ClusterShape, lifecycle: LifecycleScripts | None) -> list[Problem]:
    """Return what is wrong with `cluster` that the rules cannot see."""
    problems = cloudformation_gaps(cluster.groups)
    for group in cluster.groups:
        found = [*_keys(group, continuous=cluster.node_provisioning_mode is not None), *_interface(group)]
        problems += [problem.under("groups", group.name) for problem in found]
    if not cluster.api_driven:
        problems += legacy_problems(cluster)
    if lifecycle is not None:
        problems += [problem.under("lifecycle") for problem in _scripts(lifecycle)]
        if lifecycle.prefix is None:
            problems += _files(cluster, lifecycle.scripts or default_folder())
    elif any(group.on_create or group.on_init_complete for group in cluster.groups):
        problems += check_lifecycle_source(None, has_script=True)
    return problems


def _of_unmounted(problem: Problem, cluster: ClusterShape) -> bool:
    """Return whether it is of a file system in another AZ, in a group that mounts none there.

    The rules know only clusters that mount on every node, as those of a fleet file do.
    """
    if problem.code is not Code.MOUNT_ZONE:
        return False
    groups = [group for group in cluster.groups if group.name in problem.path]
    return not any(
        group.mounts(mount.kind) and mount.availability_zone_id != group.availability_zone_id
        for group in groups
        for mount in cluster.mounts
    )


def _keys(group: InstanceGroup, *, continuous: bool) -> Iterator[Problem]:
    if group.ebs_volume_key is not None and group.ebs_volume_gib is None:
        yield Problem(
            code=Code.CLUSTER_VOLUME_KEY,
            message="a key is given for a second volume that the group does not have",
            path=("ebs_volume_key",),
            remedy="give ebs_volume_gib as well, or take root_volume_key to encrypt the root volume",
        )
    for field in ("ebs_volume_key", "root_volume_key"):
        if getattr(group, field) is not None and not continuous:
            yield Problem(
                code=Code.CLUSTER_KEY_NOT_CONTINUOUS,
                message="HyperPod encrypts volumes with a key of yours only under Continuous provisioning",
                path=(field,),
                remedy="leave node_provisioning_mode at its default, or the key out",
            )


def _interface(group: InstanceGroup) -> Iterator[Problem]:
    if group.network_interface is None:
        return
    for name in group.instance_types or (group.instance_type or "",):
        facts = facts_of(name)
        if facts is not None and facts.efa_interfaces == 0:
            yield Problem(
                code=Code.CLUSTER_INTERFACE,
                message=f"{name} has no EFA interface",
                path=("network_interface",),
                value=group.network_interface.value,
                remedy="leave network_interface out, or take an instance type with EFA",
            )


def _files(cluster: ClusterShape, folder: Path) -> Iterator[Problem]:
    """Scripts that a group is told to run and that are not in the folder to upload."""
    for group in cluster.groups:
        for field in ("on_create", "on_init_complete"):
            name = getattr(group, field)
            if name is not None and not is_unresolved(name) and not (folder / name).is_file():
                yield Problem(
                    code=Code.BUNDLE_ENTRY_MISSING,
                    message="the script is not among those that are uploaded",
                    path=("groups", group.name, field),
                    value=name,
                    remedy=f"put it into {folder}, or say with LifecycleScripts(bucket=…, prefix=…) where it lies",
                )


def _scripts(lifecycle: LifecycleScripts) -> Iterator[Problem]:
    if lifecycle.bucket is not None:
        yield from (problem.under("bucket") for problem in bucket_name(lifecycle.bucket.bucket_name))
    if lifecycle.prefix is not None and lifecycle.bucket is None:
        yield Problem(
            code=Code.CLUSTER_SCRIPTS_PLACE,
            message="a prefix is given without the bucket that it is in",
            path=("prefix",),
            value=lifecycle.prefix,
            remedy="give the bucket, whose name begins with `sagemaker-`, or leave the prefix out",
        )
    if lifecycle.prefix is not None and lifecycle.scripts is not None:
        yield Problem(
            code=Code.CLUSTER_SCRIPTS_PLACE,
            message="scripts are given both as a folder to upload and as a prefix where they lie already",
            path=("scripts",),
            value=str(lifecycle.scripts),
            remedy="give one of the two",
        )
