"""Rules of a whole HyperPod cluster: name, tags, roles, Slurm configuration strategy, accounting, legacy configuration.

Source: SageMaker developer guide, continuous provisioning with Slurm (prerequisites) and migration from the legacy
to the API-driven configuration (2026).
"""

from collections.abc import Callable, Iterator, Mapping
from unicodedata import category

from llm_fleet.catalog.hyperpod import cluster_limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.hyperpod.group_place import (
    check_cluster_network,
    check_deep_health_checks,
    check_mount_zones,
    check_mounts,
    check_override,
    check_spot,
    check_training_plan,
    check_training_plan_place,
    check_volume_keys,
)
from llm_fleet.rules.hyperpod.group_updates import check_updates
from llm_fleet.rules.hyperpod.instance_group import (
    check_controller_count,
    check_counts,
    check_group_name,
    check_image,
    check_instance_types,
    check_lifecycle_hooks,
    check_lifecycle_or_script,
    check_lifecycle_source,
    check_network_interface,
    check_partition,
    check_partition_name,
    check_threads_per_core,
)
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.regions import check_az_id, check_hyperpod_region
from llm_fleet.rules.terms import NodeType, SlurmConfigStrategy
from llm_fleet.rules.values import check_hyphenated_name, check_number, repeated
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.slurm_database import AccountingDatabase


def check_cluster_name(name: str | None) -> list[Problem]:
    """Check `ClusterName`: 1 to 63 letters, digits and inner hyphens."""
    return check_hyphenated_name(
        name, cluster_limit("ClusterName"), Code.CLUSTER_NAME, "cluster_name", what="cluster name"
    )


@rule
def check_group_names_unique(cluster: PlacedCluster) -> Iterator[Problem]:
    """Check that no two groups have the same name. Two groups can share a partition."""
    for name, count in repeated(group.name for group in cluster.groups).items():
        yield Problem(
            code=Code.GROUP_NAME_TWICE,
            message=f"{count} instance groups have the name {name!r}",
            remedy=f"give each a unique name, e.g. `{name + '-2'}` to the second",
            path=("groups", name, "name"),
            value=name,
        )


@rule
def check_tags(tags: Mapping[str, str]) -> Iterator[Problem]:
    """Check the number of `tags`, their keys and their values."""
    for key, value in tags.items():
        yield from _check_tag_text(key, key, "Key", Code.TAG_KEY)
        yield from _check_tag_text(value, key, "Value", Code.TAG_VALUE)
        if key.casefold().startswith("aws:"):
            yield Problem(
                code=Code.TAG_KEY,
                message=f"the tag key {key!r} begins with 'aws:', which is reserved for AWS",
                remedy=f"write `{key[len('aws:') :]}`",
                path=("tags", key),
                value=key,
            )
    limit = cluster_limit("Tags")
    if not limit.holds(len(tags)):
        yield Problem(
            code=Code.TAG_NUMBER,
            message=f"the cluster has {len(tags)} tags, {len(tags) - (limit.maximum or 0)} too many",
            remedy="remove the tags that no cost report or policy uses",
            path=("tags",),
            value=len(tags),
            allowed=limit.range,
        )


def _check_tag_text(text: str, key: str, part: str, code: Code) -> Iterator[Problem]:
    if is_unresolved(text):
        return
    limit = cluster_limit(f"Tags[].{part}")
    wrong = sorted({character for character in text if not _in_tag(character)})
    if limit.holds(len(text)) and not wrong:
        return
    fault = f"contains {', '.join(map(repr, wrong))}" if wrong else f"is {len(text)} characters long"
    yield Problem(
        code=code,
        message=f"the {part.lower()} of the tag {key!r} {fault}",
        remedy="use letters, digits, spaces and _ . : / = + - @"
        if wrong
        else "write at least one character, or shorten it",
        path=("tags", key),
        value=text,
        allowed=f"{limit.range} characters",
    )


def _in_tag(character: str) -> bool:
    """Whether AWS's pattern `[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]` has `character`; Python's `re` cannot say `\\p`."""
    return category(character)[0] in "LZN" or character in "_.:/=+-@"


def check_group_number(cluster: PlacedCluster) -> list[Problem]:
    """Check that there are 1 to 100 groups."""
    limit = cluster_limit("InstanceGroups")
    return check_number(
        len(cluster.groups),
        limit,
        Code.GROUP_NUMBER,
        "groups",
        what="the number of instance groups",
        remedy="put instances of the same kind into one group"
        if cluster.groups
        else "give the cluster a controller group",
    )


@rule
def check_roles(cluster: PlacedCluster) -> Iterator[Problem]:
    """Check that there is exactly one controller group, and at most one login group."""
    # `check_group_number` reports a cluster without groups.
    if cluster.groups and all(group.node_type is not NodeType.CONTROLLER for group in cluster.groups):
        yield Problem(
            code=Code.CONTROLLER_MISSING,
            message="no group has the role controller, so slurmctld would not run",
            remedy="add one group with the role controller, e.g. one ml.m5.xlarge",
            path=("groups",),
            allowed="exactly one controller group",
        )
    yield from _several(cluster, NodeType.CONTROLLER, Code.CONTROLLER_TWICE)
    yield from _several(cluster, NodeType.LOGIN, Code.LOGIN_TWICE)


@rule
def check_min_counts_continuous(cluster: PlacedCluster) -> Iterator[Problem]:
    """Check that a minimum is only given with Continuous provisioning, else HyperPod starts all instances or none."""
    for group in cluster.groups:
        if group.min_count is not None and not cluster.spec.continuous:
            yield group.wrong(
                "min_count",
                Code.MIN_COUNT_NOT_CONTINUOUS,
                "`min_count` requires Continuous provisioning; without it, HyperPod starts all instances or none",
                "write `provisioning: Continuous`, or remove `min_count`",
            ).under("groups", group.name)


def _several(cluster: PlacedCluster, role: NodeType, code: Code) -> Iterator[Problem]:
    names = [group.name for group in cluster.groups if group.node_type is role]
    word = role.lower()
    if len(names) > 1:
        yield Problem(
            code=code,
            message=f"{len(names)} groups have the role {word}: {', '.join(map(repr, names))}",
            remedy=f"keep {names[0]!r} as {word} and make the rest compute groups"
            + ("" if role is NodeType.CONTROLLER else f", or raise the count of {names[0]!r}"),
            path=("groups", names[1], "node_type"),
            value=names,
            allowed=f"exactly one {word} group" if role is NodeType.CONTROLLER else f"at most one {word} group",
        )


@rule
def check_strategy(cluster: PlacedCluster) -> Iterator[Problem]:
    """Check that a strategy is given exactly when provisioning is not Continuous.

    With Continuous provisioning the API rejects any, since it always merges. Without it, AWS's documents disagree on
    the default, so llm-fleet requires the strategy.
    """
    spec = cluster.spec
    if spec.continuous and spec.slurm_config_strategy is not None:
        yield spec.wrong(
            "slurm_config_strategy",
            Code.STRATEGY_WITH_CONTINUOUS,
            "with Continuous provisioning HyperPod always merges slurm.conf, and the API rejects a strategy",
            "remove the strategy, or do not use Continuous provisioning",
        )
    elif not spec.continuous and spec.slurm_config_strategy is None:
        yield spec.wrong(
            "slurm_config_strategy",
            Code.STRATEGY_MISSING,
            "without Continuous provisioning a strategy for edits of slurm.conf is required, because "
            "AWS's documents disagree on the default",
            "write Merge to keep edits made on the controller",
            allowed=", ".join(SlurmConfigStrategy),
        )


@rule
def check_accounting_database(cluster: PlacedCluster) -> Iterator[Problem]:
    """Check that an accounting database is only given with Continuous provisioning, and its fields."""
    database = cluster.spec.accounting_database
    if database is None:
        return
    yield from (each.under("accounting_database") for each in check_accounting_fields(database))
    if not cluster.spec.continuous:
        yield Problem(
            code=Code.ACCOUNTING_NOT_CONTINUOUS,
            message="an external accounting database requires Continuous provisioning",
            remedy="write `provisioning: Continuous`, or remove the database: the controller then runs its own",
            path=("accounting_database",),
        )


def check_accounting_fields(database: AccountingDatabase) -> list[Problem]:
    """Check host name, port, schema name and secret of the database."""
    return [
        *_check_text("endpoint", "Endpoint", database.endpoint, "write the host name alone, without scheme and port"),
        *check_fields(database),
        *_check_text("database_name", "Name", database.database_name, "use letters, digits, $ and _ only"),
        *_check_text("secret_arn", "SecretArn", database.secret_arn, "write the whole ARN of a Secrets Manager secret"),
    ]


def _check_text(attribute: str, field: str, value: str | None, remedy: str) -> Iterator[Problem]:
    limit = cluster_limit(f"Orchestrator.Slurm.AccountingDatabase.{field}")
    if value is None or is_unresolved(value) or limit.fits(value):
        return
    yield Problem(
        code=Code.ACCOUNTING_DATABASE,
        message=f"the {attribute.replace('_', ' ')} of the accounting database is not in the format that "
        "HyperPod requires",
        remedy=remedy,
        path=(attribute,),
        value=value,
        allowed=f"{limit.range} characters",
    )


def check_legacy(cluster: PlacedCluster) -> Iterator[Problem]:
    """Return the settings of `cluster` that require the API, which provisioning_parameters.json replaces."""
    if cluster.spec.node_provisioning_mode is not None:
        yield _problem(
            "node_provisioning_mode",
            message="Continuous provisioning reads Slurm's groups from the API, not from provisioning_parameters.json",
            remedy="remove that file from the scripts, or do not use Continuous provisioning",
        )
    for group in cluster.groups:
        if group.on_create is None:
            yield _problem(
                "groups",
                group.name,
                "on_create",
                message="with provisioning_parameters.json your own OnCreate script must configure each node",
                remedy="write `lifecycle: OnCreate`, or remove that file from the scripts",
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
    lambda cluster: check_lifecycle_source(cluster.lifecycle_source_s3_uri),
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
    """Return the problems of `group` alone, by attribute: `("instance_type",)`."""
    return [problem for rule in GROUP_RULES for problem in rule(group)]


def check_cluster(cluster: PlacedCluster) -> list[Problem]:
    """Return all problems of `cluster`.

    Problems of a group are below its name: `("groups", "worker-group", "instance_type")`.
    """
    return [
        *(problem for rule in CLUSTER_RULES for problem in rule(cluster)),
        *check_az_id(cluster.region, cluster.spec.availability_zone_id),
        *(
            problem.under("groups", group.name)
            for group in cluster.groups
            for problem in (
                *check_group(group),
                *check_training_plan_place(cluster, group),
                *check_volume_keys(group, continuous=cluster.spec.continuous),
                *check_az_id(cluster.region, group.availability_zone_id),
            )
        ),
    ]
