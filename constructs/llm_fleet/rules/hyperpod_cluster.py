"""Every rule of HyperPod, for a whole cluster."""

from collections.abc import Callable

from llm_fleet.rules.hyperpod_capacity import (
    check_deep_health_checks,
    check_spot,
    check_training_plan,
    check_training_plan_place,
)
from llm_fleet.rules.hyperpod_image import check_image
from llm_fleet.rules.hyperpod_instances import check_instance_types, check_threads_per_core
from llm_fleet.rules.hyperpod_lifecycle import check_lifecycle_hooks, check_lifecycle_source
from llm_fleet.rules.hyperpod_names import (
    check_cluster_name,
    check_group_name,
    check_group_names_unique,
    check_partition_name,
    check_tags,
)
from llm_fleet.rules.hyperpod_network import check_cluster_network, check_override
from llm_fleet.rules.hyperpod_orchestrator import check_accounting_database, check_strategy
from llm_fleet.rules.hyperpod_protocols import ClusterLike
from llm_fleet.rules.hyperpod_roles import (
    check_controller_count,
    check_counts,
    check_group_number,
    check_min_counts_continuous,
    check_partition,
    check_roles,
)
from llm_fleet.rules.hyperpod_storage import check_ebs_volume, check_mount_zones, check_mounts
from llm_fleet.rules.hyperpod_updates import check_updates
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.regions import check_az_id, check_hyperpod_region
from llm_fleet.spec.instance_group import InstanceGroup

GROUP_RULES: tuple[Callable[[InstanceGroup], list[Problem]], ...] = (
    check_group_name,
    check_instance_types,
    check_counts,
    check_controller_count,
    check_partition,
    check_partition_name,
    check_threads_per_core,
    check_lifecycle_hooks,
    check_ebs_volume,
    check_deep_health_checks,
    check_training_plan,
    check_spot,
    check_image,
    check_override,
    check_updates,
)
CLUSTER_RULES: tuple[Callable[[ClusterLike], list[Problem]], ...] = (
    lambda cluster: check_cluster_name(cluster.cluster_name),
    lambda cluster: check_hyperpod_region(cluster.region),
    lambda cluster: check_lifecycle_source(cluster.lifecycle_source_s3_uri, has_script=False),
    lambda cluster: check_tags(cluster.tags),
    check_group_number,
    check_group_names_unique,
    check_roles,
    check_min_counts_continuous,
    check_strategy,
    check_accounting_database,
    check_cluster_network,
    check_mounts,
    check_mount_zones,
)


def check_group(group: InstanceGroup) -> list[Problem]:
    """Return what is wrong with `group` by itself, by its attributes: `("instance_type",)`."""
    return [problem for rule in GROUP_RULES for problem in rule(group)]


def check_cluster(cluster: ClusterLike) -> list[Problem]:
    """Return everything that is wrong with `cluster`; a good one gives nothing.

    What is wrong in a group lies under its name: `("groups", "worker-group", "instance_type")`.
    """
    return [
        *(problem for rule in CLUSTER_RULES for problem in rule(cluster)),
        *_check_zone(cluster.region, cluster.availability_zone_id),
        *(
            problem.under("groups", group.name)
            for group in cluster.groups
            for problem in (
                *check_group(group),
                *check_training_plan_place(cluster, group),
                *_check_zone(cluster.region, group.availability_zone_id),
            )
        ),
    ]


def _check_zone(region: str | None, zone: str | None) -> list[Problem]:
    return [] if zone is None else check_az_id(region, zone)
