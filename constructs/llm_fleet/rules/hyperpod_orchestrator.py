"""Slurm as HyperPod runs it: the strategy for slurm.conf, and the accounting database."""

from llm_fleet.catalog.hyperpod import cluster_limit, hyperpod_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_protocols import AccountingDatabaseLike, ClusterLike
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeProvisioningMode, SlurmConfigStrategy
from llm_fleet.rules.tokens import is_unresolved


def check_strategy(cluster: ClusterLike) -> list[Problem]:
    """Check that a strategy is given if and only if provisioning is not Continuous.

    With Continuous the API refuses any, since merging is implied; without it AWS's documents disagree on the default,
    so llm-fleet wants it said.
    """
    strategies = ", ".join(SlurmConfigStrategy)
    continuous = cluster.node_provisioning_mode is NodeProvisioningMode.CONTINUOUS
    if continuous and cluster.slurm_config_strategy is not None:
        return [
            Problem(
                code=Code.STRATEGY_WITH_CONTINUOUS,
                message="Continuous provisioning always merges slurm.conf, and the API refuses a strategy beside it",
                remedy="drop the strategy, or give up Continuous provisioning",
                path=("slurm_config_strategy",),
                value=str(cluster.slurm_config_strategy),
            )
        ]
    if not continuous and cluster.slurm_config_strategy is None:
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


def check_accounting_database(cluster: ClusterLike) -> list[Problem]:
    """Check that an accounting database stands beside Continuous provisioning, and its fields."""
    database = cluster.accounting_database
    if database is None:
        return []
    problems = [problem.under("accounting_database") for problem in check_accounting_fields(database)]
    if cluster.node_provisioning_mode is not NodeProvisioningMode.CONTINUOUS:
        problems.append(
            Problem(
                code=Code.ACCOUNTING_NOT_CONTINUOUS,
                message="an external accounting database works only with Continuous provisioning",
                remedy="set provisioning to Continuous, or drop the database: the controller then has its own",
                path=("accounting_database",),
            )
        )
    return problems


def check_accounting_fields(database: AccountingDatabaseLike) -> list[Problem]:
    """Check host name, port, schema name and secret of the database."""
    port = cluster_limit("Orchestrator.Slurm.AccountingDatabase.Port")
    return [
        *_check_text("endpoint", "Endpoint", database.endpoint, "write the host name alone, without scheme and port"),
        *check_number(
            database.port,
            port,
            Code.ACCOUNTING_DATABASE,
            "port",
            what="the port",
            remedy=f"write the port that the database listens on, mostly {hyperpod_facts().accounting_port}",
        ),
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
