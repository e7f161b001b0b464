"""Where the clusters of a fleet file keep Slurm's accounting."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.config.accounting import AccountingConfig
from llm_fleet.config.parallelcluster import SlurmAccountingConfig
from llm_fleet.spec.slurm_database import AccountingDatabase

if TYPE_CHECKING:
    from llm_fleet.accounting.accounting import Accounting
    from llm_fleet.accounting.slurm_database import SlurmDatabase

_SECRET = "AccountingSecret"  # noqa: S105 - a construct's id
_Group = Callable[[str], ec2.ISecurityGroup]


def hyperpod_accounting(
    config: AccountingConfig | None, *, database: "SlurmDatabase | None", group: _Group
) -> AccountingDatabase | None:
    """Return the database of a HyperPod cluster, `database` where it is the fleet's; `None` for the controller's.

    `group` returns the security group of an id, the same one for every cluster.
    """
    if config is None:
        return None
    if config.of_fleet:
        return _made(database).for_hyperpod()
    guard = config.connections
    return config.narrowed(AccountingDatabase, connections=group(guard) if isinstance(guard, str) else guard)


def parallelcluster_accounting(
    scope: Construct, config: SlurmAccountingConfig | None, *, database: "SlurmDatabase | None", group: _Group
) -> "Accounting | None":
    """Return the accounting of a ParallelCluster, in `database` where it is the fleet's; `None` for none.

    `group`: as for HyperPod.
    """
    if config is None:
        return None
    from llm_fleet.accounting.accounting import Accounting
    from llm_fleet.accounting.slurm_database import SlurmDatabase

    if config.of_fleet:
        return Accounting.database(_made(database))
    guard = group(config.security_group_id) if config.security_group_id else None
    munge_key = _secret(scope, "MungeKey", config.munge_key_secret_arn)
    if config.slurmdbd_host is not None:
        return Accounting.slurmdbd(
            config.slurmdbd_host, port=config.slurmdbd_port, munge_key_secret=munge_key, connections=guard
        )
    if config.endpoint is None:
        return Accounting(munge_key_secret=munge_key, guard=guard, port=config.port)
    existing = SlurmDatabase.from_attributes(
        endpoint=config.endpoint,
        user_name=config.user_name,
        port=config.port,
        password_secret=_secret(scope, _SECRET, config.password_secret_arn),
        connections=guard,
    )
    made = Accounting.database(existing, database_name=config.database_name)
    return replace(made, munge_key_secret=munge_key)


def _made(database: "SlurmDatabase | None") -> "SlurmDatabase":
    if database is None:
        raise TypeError("no database was made; the fleet file has been refused without one")
    return database


def _secret(scope: Construct, id: str, arn: str | None) -> secretsmanager.ISecret | None:
    return secretsmanager.Secret.from_secret_complete_arn(scope, id, arn) if arn else None
