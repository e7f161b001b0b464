"""Where the clusters of a fleet file keep Slurm's accounting."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from aws_cdk import aws_ec2 as ec2

from llm_fleet.fleet_file.accounting import AccountingConfig
from llm_fleet.fleet_file.parallelcluster import SlurmAccountingConfig
from llm_fleet.spec.slurm_database import Accounting, AccountingDatabase

if TYPE_CHECKING:
    from llm_fleet.accounting.slurm_database import SlurmDatabase

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
    config: SlurmAccountingConfig | None, *, database: "SlurmDatabase | None", group: _Group
) -> Accounting | None:
    """Return the accounting of a ParallelCluster, in `database` where it is the fleet's; `None` for none.

    `group`: as for HyperPod.
    """
    if config is None:
        return None
    if config.of_fleet:
        return _made(database).for_parallelcluster()
    guard = config.connections
    return config.narrowed(Accounting, connections=group(guard) if isinstance(guard, str) else guard)


def _made(database: "SlurmDatabase | None") -> "SlurmDatabase":
    if database is None:
        raise TypeError("no database was made; the fleet file has been refused without one")
    return database
