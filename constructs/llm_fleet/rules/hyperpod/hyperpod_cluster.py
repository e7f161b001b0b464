"""Every rule of HyperPod, for a whole cluster; Slurm's strategy and accounting; the legacy configuration.

Source: SageMaker developer guide, continuous provisioning with Slurm (prerequisites) and migration from the legacy
to the API-driven configuration (2026).
"""

from collections.abc import Callable, Iterator

from llm_fleet.catalog.hyperpod import cluster_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.hyperpod.group_place import (
    check_cluster_network,
    check_deep_health_checks,
    check_override,
    check_spot,
    check_training_plan,
    check_training_plan_place,
)
from llm_fleet.rules.hyperpod.group_roles import (
    check_cluster_name,
    check_controller_count,
    check_counts,
    check_group_name,
    check_group_names_unique,
    check_group_number,
    check_min_counts_continuous,
    check_partition,
    check_partition_name,
    check_roles,
    check_tags,
)
from llm_fleet.rules.hyperpod.group_storage import check_mount_zones, check_mounts, check_volume_keys
from llm_fleet.rules.hyperpod.group_updates import check_updates
from llm_fleet.rules.hyperpod.instance_group import (
    check_image,
    check_instance_types,
    check_lifecycle_hooks,
    check_lifecycle_or_script,
    check_lifecycle_source,
    check_network_interface,
    check_threads_per_core,
)
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.regions import check_az_id, check_hyperpod_region
from llm_fleet.rules.terms import NodeProvisioningMode, SlurmConfigStrategy
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.slurm_database import AccountingDatabase


def check_strategy(cluster: PlacedCluster) -> list[Problem]:
    """Check that a strategy is given if and only if provisioning is not Continuous.

    With Continuous the API refuses any, since merging is implied; without it AWS's documents disagree on the default,
    so llm-fleet wants it said.
    """
    strategies = ", ".join(SlurmConfigStrategy)
    continuous = cluster.spec.node_provisioning_mode is NodeProvisioningMode.CONTINUOUS
    if continuous and cluster.spec.slurm_config_strategy is not None:
        return [
            Problem(
                code=Code.STRATEGY_WITH_CONTINUOUS,
                message="Continuous provisioning always merges slurm.conf, and the API refuses a strategy beside it",
                remedy="drop the strategy, or give up Continuous provisioning",
                path=("slurm_config_strategy",),
                value=str(cluster.spec.slurm_config_strategy),
            )
        ]
    if not continuous and cluster.spec.slurm_config_strategy is None:
        return [
            Problem(
                code=Code.STRATEGY_MISSING,
                message="without Continuous provisioning HyperPod must be told how to treat edits of slurm.conf; "
                "AWS's documents disagree on the default",
                remedy="write Merge to keep edits made on the controller",
                path=("slurm_config_strategy",),
                allowed=strategies,
            )
        ]
    return []


def check_accounting_database(cluster: PlacedCluster) -> list[Problem]:
    """Check that an accounting database stands beside Continuous provisioning, and its fields."""
    database = cluster.accounting_database
    if database is None:
        return []
    problems = [problem.under("accounting_database") for problem in check_accounting_fields(database)]
    if cluster.spec.node_provisioning_mode is not NodeProvisioningMode.CONTINUOUS:
        problems.append(
            Problem(
                code=Code.ACCOUNTING_NOT_CONTINUOUS,
                message="an external accounting database works only with Continuous provisioning",
                remedy="set provisioning to Continuous, or drop the database: the controller then has its own",
                path=("accounting_database",),
            )
        )
    return problems


def check_accounting_fields(database: AccountingDatabase) -> list[Problem]:
    """Check host name, port, schema name and secret of the database."""
    return [
        *_check_text("endpoint", "Endpoint", database.endpoint, "write the host name alone, without scheme and port"),
        *check_fields(database),
        *_check_text("database_name", "Name", database.database_name, "use letters, digits, $ and _ only"),
        *_check_text("secret_arn", "SecretArn", database.secret_arn, "write the whole ARN of a Secrets Manager secret"),
    ]


def _check_text(attribute: str, field: str, value: str | None, remedy: str) -> list[Problem]:
    limit = cluster_limit(f"Orchestrator.Slurm.AccountingDatabase.{field}")
    if value is None or is_unresolved(value) or (limit.holds(len(value)) and limit.matches(value)):
        return []
    return [
        Problem(
            code=Code.ACCOUNTING_DATABASE,
            message=f"the {attribute.replace('_', ' ')} of the accounting database has not the form that HyperPod asks",
            remedy=remedy,
            path=(attribute,),
            value=value,
            allowed=f"{limit.range} characters",
        )
    ]


def check_legacy(cluster: PlacedCluster) -> Iterator[Problem]:
    """Return what of `cluster` needs the API's configuration, which its scripts replace by their own file."""
    if cluster.spec.node_provisioning_mode is not None:
        yield _problem(
            "node_provisioning_mode",
            message="Continuous provisioning takes Slurm's groups from the API, not from provisioning_parameters.json",
            remedy="take that file out of the scripts, or give up Continuous provisioning",
        )
    for group in cluster.groups:
        if group.on_create is None:
            yield _problem(
                "groups",
                group.name,
                "on_create",
                message="with provisioning_parameters.json a script of yours configures each node, by OnCreate",
                remedy="let the lifecycle scripts run by OnCreate, or take that file out of the scripts",
            )


def _problem(*path: PathPart, message: str, remedy: str) -> Problem:
    return Problem(code=Code.CLUSTER_LEGACY_CONFIG, message=message, path=path, remedy=remedy)


GROUP_RULES: tuple[Callable[[InstanceGroup], list[Problem]], ...] = (
    check_group_name,
    check_instance_types,
    check_counts,
    check_controller_count,
    check_partition,
    check_partition_name,
    check_threads_per_core,
    check_lifecycle_hooks,
    check_fields,
    check_deep_health_checks,
    check_training_plan,
    check_spot,
    check_image,
    check_override,
    check_updates,
    check_lifecycle_or_script,
    check_network_interface,
)
CLUSTER_RULES: tuple[Callable[[PlacedCluster], list[Problem]], ...] = (
    lambda cluster: check_cluster_name(cluster.spec.cluster_name),
    lambda cluster: check_hyperpod_region(cluster.region),
    lambda cluster: check_lifecycle_source(cluster.lifecycle_source_s3_uri, has_script=False),
    lambda cluster: check_tags(cluster.spec.tags),
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


def check_cluster(cluster: PlacedCluster) -> list[Problem]:
    """Return everything that is wrong with `cluster`; a good one gives nothing.

    What is wrong in a group lies under its name: `("groups", "worker-group", "instance_type")`.
    """
    return [
        *(problem for rule in CLUSTER_RULES for problem in rule(cluster)),
        *_check_zone(cluster.region, cluster.spec.availability_zone_id),
        *(
            problem.under("groups", group.name)
            for group in cluster.groups
            for problem in (
                *check_group(group),
                *check_training_plan_place(cluster, group),
                *check_volume_keys(group, continuous=cluster.spec.continuous),
                *_check_zone(cluster.region, group.availability_zone_id),
            )
        ),
    ]


def _check_zone(region: str | None, zone: str | None) -> list[Problem]:
    return [] if zone is None else check_az_id(region, zone)
