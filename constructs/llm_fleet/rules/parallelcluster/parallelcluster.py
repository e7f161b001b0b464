"""All rules of ParallelCluster, for a whole cluster and for each of its parts.

Paths are attribute names; problems of an item of a list are below its name:
`("queues", "trn1", "compute_resources", "trn1", "efa")`.
"""

from collections.abc import Callable

from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.capacity import (
    check_allocation,
    check_capacity_block,
    check_capacity_type,
    check_placement,
    check_placement_name,
    check_reservation,
    check_reservation_use,
    check_spot_price,
)
from llm_fleet.rules.parallelcluster.cluster_names import (
    check_cluster_name,
    check_host_names,
    check_names_unique,
    check_part_name,
    check_resource_names_unique,
    check_tags,
)
from llm_fleet.rules.parallelcluster.cluster_settings import (
    check_accounting_settings,
    check_image_needed,
    check_os,
    check_queue_settings,
    check_region,
    check_resource_settings,
    check_scheduler,
    check_slurm_conf,
    check_version,
)
from llm_fleet.rules.parallelcluster.configuration import check_keyed
from llm_fleet.rules.parallelcluster.instance_types import (
    check_architecture,
    check_mixed_types,
    check_resource_types,
    check_type,
    check_types_run,
)
from llm_fleet.rules.parallelcluster.node_network import (
    check_efa_subnets,
    check_efa_type,
    check_fsx_subnets,
    check_public_addresses,
    check_subnets,
)
from llm_fleet.rules.parallelcluster.nodes import (
    check_counts,
    check_head_access,
    check_head_memory,
    check_login_pool_nodes,
    check_memory,
    check_queue_ids,
    check_queue_number,
)
from llm_fleet.rules.parallelcluster.overrides import (
    Place,
    check_chef_attributes,
    check_directory,
    check_efs_settings,
    check_iam,
    check_overrides,
    check_packages,
)
from llm_fleet.rules.parallelcluster.shared_storage import (
    check_mount_dir,
    check_overlaps,
    check_scratch_dirs,
    check_settings,
    check_storage_ids_unique,
    check_storage_name,
    check_storage_numbers,
)
from llm_fleet.rules.parallelcluster.storage_settings import (
    check_efs,
    check_lustre,
    check_root_sizes,
    check_root_volume,
    check_shared_ebs,
)
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.slurm_database import check_accounting_fields
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SharedStorage, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue
from llm_fleet.spec.slurm_database import Accounting

HEAD_NODE_RULES: tuple[Callable[[HeadNode], list[Problem]], ...] = (
    lambda head: check_type(head.instance_type, "instance_type"),
    check_head_access,
    lambda head: _under("root_volume", check_root_volume(head.root_volume) if head.root_volume else []),
    check_efs_settings,
    lambda head: check_overrides(head.overrides, Place.HEAD_NODE),
)
COMPUTE_RESOURCE_RULES: tuple[Callable[[ComputeResource], list[Problem]], ...] = (
    lambda resource: check_part_name(resource.name, what="compute resource"),
    check_resource_types,
    check_mixed_types,
    check_counts,
    check_memory,
    check_efa_type,
    lambda resource: check_placement_name(resource.placement_group),
    lambda resource: check_reservation(resource.capacity_reservation),
    check_resource_settings,
    lambda resource: check_overrides(resource.overrides, Place.COMPUTE_RESOURCE),
)
QUEUE_RULES: tuple[Callable[[Queue], list[Problem]], ...] = (
    lambda queue: check_part_name(queue.name, what="queue"),
    check_resource_names_unique,
    check_subnets,
    check_queue_ids,
    check_allocation,
    lambda queue: check_placement_name(queue.placement_group),
    lambda queue: check_reservation(queue.capacity_reservation),
    lambda queue: _under("root_volume", check_root_volume(queue.root_volume) if queue.root_volume else []),
    check_queue_settings,
    lambda queue: check_overrides(queue.overrides, Place.QUEUE),
)
RESOURCE_IN_QUEUE_RULES: tuple[Callable[[Queue, ComputeResource], list[Problem]], ...] = (
    check_efa_subnets,
    check_placement,
    check_reservation_use,
    check_capacity_block,
    check_capacity_type,
    check_spot_price,
)
LOGIN_POOL_RULES: tuple[Callable[[LoginPool], list[Problem]], ...] = (
    lambda pool: check_part_name(pool.name, what="login pool"),
    lambda pool: check_type(pool.instance_type, "instance_type"),
    check_login_pool_nodes,
    lambda pool: check_overrides(pool.overrides, Place.LOGIN_POOL),
)
SHARED_STORAGE_RULES: tuple[Callable[[SharedStorage], list[Problem]], ...] = (
    check_storage_name,
    check_mount_dir,
    check_settings,
    check_lustre,
    check_shared_ebs,
    check_efs,
)
SLURM_RULES: tuple[Callable[[SlurmSettings], list[Problem]], ...] = (
    check_slurm_conf,
    lambda slurm: check_overrides(slurm.overrides, Place.SLURM),
)
ACCOUNTING_RULES: tuple[Callable[[Accounting], list[Problem]], ...] = (check_accounting_fields,)
CLUSTER_RULES: tuple[Callable[[PlacedParallelCluster], list[Problem]], ...] = (
    check_cluster_name,
    check_version,
    check_scheduler,
    check_os,
    check_image_needed,
    lambda cluster: check_keyed("Image/CustomAmi", cluster.image_id, Code.PC_IMAGE, "image_id", what="the image's ID"),
    check_region,
    check_queue_number,
    check_names_unique,
    check_host_names,
    check_types_run,
    check_architecture,
    check_head_memory,
    check_public_addresses,
    check_storage_numbers,
    check_storage_ids_unique,
    check_fsx_subnets,
    check_scratch_dirs,
    check_overlaps,
    check_root_sizes,
    check_accounting_settings,
    check_tags,
    lambda cluster: check_keyed(
        "Monitoring/Logs/CloudWatch/RetentionInDays",
        cluster.log_retention_days,
        Code.PC_LOG_RETENTION,
        "log_retention_days",
        what="the number of days",
    ),
    check_directory,
    check_iam,
    check_packages,
    check_chef_attributes,
    lambda cluster: check_overrides(cluster.overrides, Place.CLUSTER),
)


def check_head_node(head_node: HeadNode) -> list[Problem]:
    """Return the problems of a head node alone."""
    return [problem for rule in HEAD_NODE_RULES for problem in rule(head_node)]


def check_compute_resource(resource: ComputeResource) -> list[Problem]:
    """Return the problems of a compute resource alone."""
    return [problem for rule in COMPUTE_RESOURCE_RULES for problem in rule(resource)]


def check_queue(queue: Queue) -> list[Problem]:
    """Return the problems of a queue and of its compute resources, these below their names."""
    return [
        *(problem for rule in QUEUE_RULES for problem in rule(queue)),
        *(
            problem.under("compute_resources", resource.name)
            for resource in queue.compute_resources
            for problem in (
                *check_compute_resource(resource),
                *(found for rule in RESOURCE_IN_QUEUE_RULES for found in rule(queue, resource)),
            )
            # A compute resource with the name of its queue has the queue's problem.
            if problem.path != ("name",) or resource.name != queue.name
        ),
    ]


def check_login_pool(pool: LoginPool) -> list[Problem]:
    """Return the problems of a login pool alone."""
    return [problem for rule in LOGIN_POOL_RULES for problem in rule(pool)]


def check_shared_storage(storage: SharedStorage) -> list[Problem]:
    """Return the problems of one shared storage alone."""
    return [problem for rule in SHARED_STORAGE_RULES for problem in rule(storage)]


def check_slurm_settings(slurm: SlurmSettings) -> list[Problem]:
    """Return the problems of the Slurm settings alone."""
    return [problem for rule in SLURM_RULES for problem in rule(slurm)]


def check_accounting(accounting: Accounting) -> list[Problem]:
    """Return the problems of external accounting alone."""
    return [problem for rule in ACCOUNTING_RULES for problem in rule(accounting)]


def check_parallelcluster(cluster: PlacedParallelCluster) -> list[Problem]:
    """Return all problems of `cluster` and its parts."""
    return [
        *(problem for rule in CLUSTER_RULES for problem in rule(cluster)),
        *_under("head_node", check_head_node(cluster.head_node)),
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
        *_under("slurm", check_slurm_settings(cluster.slurm)),
        *_under("accounting", [] if cluster.accounting is None else check_accounting(cluster.accounting)),
    ]


def _under(name: str, problems: list[Problem]) -> list[Problem]:
    return [problem.under(name) for problem in problems]
