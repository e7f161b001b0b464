"""Every rule of ParallelCluster, for a whole cluster and for each of its parts.

Paths are attribute names; what is wrong in an item of a list lies under its name:
`("queues", "trn1", "compute_resources", "trn1", "efa")`.
"""

from collections.abc import Callable

from llm_fleet.rules.parallelcluster.names import check_part_name
from llm_fleet.rules.parallelcluster.part_protocols import (
    AccountingLike,
    RootVolumeLike,
    SharedStorageLike,
    SlurmSettingsLike,
)
from llm_fleet.rules.parallelcluster.protocols import (
    ComputeResourceLike,
    HeadNodeLike,
    LoginPoolLike,
    ParallelClusterLike,
    QueueLike,
)
from llm_fleet.rules.problem import Problem

HEAD_NODE_RULES: tuple[Callable[[HeadNodeLike], list[Problem]], ...] = ()
COMPUTE_RESOURCE_RULES: tuple[Callable[[ComputeResourceLike], list[Problem]], ...] = (
    lambda resource: check_part_name(resource.name, what="compute resource"),
)
QUEUE_RULES: tuple[Callable[[QueueLike], list[Problem]], ...] = (
    lambda queue: check_part_name(queue.name, what="queue"),
)
LOGIN_POOL_RULES: tuple[Callable[[LoginPoolLike], list[Problem]], ...] = (
    lambda pool: check_part_name(pool.name, what="login pool"),
)
SHARED_STORAGE_RULES: tuple[Callable[[SharedStorageLike], list[Problem]], ...] = ()
SLURM_RULES: tuple[Callable[[SlurmSettingsLike], list[Problem]], ...] = ()
ACCOUNTING_RULES: tuple[Callable[[AccountingLike], list[Problem]], ...] = ()
CLUSTER_RULES: tuple[Callable[[ParallelClusterLike], list[Problem]], ...] = ()


def check_head_node(head_node: HeadNodeLike) -> list[Problem]:
    """Return what is wrong with a head node by itself."""
    return [problem for rule in HEAD_NODE_RULES for problem in rule(head_node)]


def check_root_volume(volume: RootVolumeLike) -> list[Problem]:
    """Return what is wrong with a root volume by itself."""
    return []


def check_compute_resource(resource: ComputeResourceLike) -> list[Problem]:
    """Return what is wrong with a compute resource whatever queue it is in."""
    return [problem for rule in COMPUTE_RESOURCE_RULES for problem in rule(resource)]


def check_queue(queue: QueueLike) -> list[Problem]:
    """Return what is wrong with a queue and with its compute resources, these under their names."""
    return [
        *(problem for rule in QUEUE_RULES for problem in rule(queue)),
        *(
            problem.under("compute_resources", resource.name)
            for resource in queue.compute_resources
            for problem in check_compute_resource(resource)
        ),
    ]


def check_login_pool(pool: LoginPoolLike) -> list[Problem]:
    """Return what is wrong with a login pool by itself."""
    return [problem for rule in LOGIN_POOL_RULES for problem in rule(pool)]


def check_shared_storage(storage: SharedStorageLike) -> list[Problem]:
    """Return what is wrong with one shared storage by itself."""
    return [problem for rule in SHARED_STORAGE_RULES for problem in rule(storage)]


def check_slurm_settings(slurm: SlurmSettingsLike) -> list[Problem]:
    """Return what is wrong with the settings of Slurm by themselves."""
    return [problem for rule in SLURM_RULES for problem in rule(slurm)]


def check_accounting(accounting: AccountingLike) -> list[Problem]:
    """Return what is wrong with accounting outside the cluster by itself."""
    return [problem for rule in ACCOUNTING_RULES for problem in rule(accounting)]


def check_parallelcluster(cluster: ParallelClusterLike) -> list[Problem]:
    """Return everything that is wrong with `cluster`, its parts included; a good one gives nothing."""
    accounting = () if cluster.accounting is None else check_accounting(cluster.accounting)
    return [
        *(problem for rule in CLUSTER_RULES for problem in rule(cluster)),
        *(problem.under("head_node") for problem in check_head_node(cluster.head_node)),
        *(problem.under("queues", queue.name) for queue in cluster.queues for problem in check_queue(queue)),
        *(
            problem.under("login_pools", pool.name)
            for pool in cluster.login_pools
            for problem in check_login_pool(pool)
        ),
        *(
            problem.under("shared_storage", storage.name)
            for storage in cluster.shared_storage
            for problem in check_shared_storage(storage)
        ),
        *(problem.under("slurm") for problem in check_slurm_settings(cluster.slurm)),
        *(problem.under("accounting") for problem in accounting),
    ]
