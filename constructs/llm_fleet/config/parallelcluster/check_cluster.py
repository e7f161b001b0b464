"""The ParallelClusters of a fleet file, judged by the rules that judge the construct."""

from collections.abc import Iterator

from llm_fleet.config.check_bucket_names import check_bucket_names
from llm_fleet.config.check_node_setup import check_node_setup
from llm_fleet.config.fleet import Fleet
from llm_fleet.config.parallelcluster.cluster import ParallelClusterConfig
from llm_fleet.config.parallelcluster.in_file import in_file
from llm_fleet.config.parallelcluster.view import shape_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_settings import NodeOfGroup
from llm_fleet.rules.parallelcluster.check import check_parallelcluster
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.iam_prefix import check_iam_prefix
from llm_fleet.rules.parallelcluster.place import check_place
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.regions import check_az_id
from llm_fleet.rules.terms import NodeType, ParallelClusterHook
from llm_fleet.spec.parallelcluster_queue import OF_ITS_RESOURCE, Instances, Queue

HEAD_NODE = "HeadNode"
"""The head node's group among those that nodes are told by; a login pool's is `LoginNodes-` and its name."""


def check_parallelclusters(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the ParallelClusters of `fleet`, by attribute names."""
    for name, cluster in fleet.parallelclusters.items():
        shape = shape_of(fleet, cluster)
        volumes = fleet.storage.home.volumes if fleet.storage.home else ()
        yield from (in_file(problem, cluster, volumes) for problem in check_parallelcluster(shape))
        yield from _check_place(fleet)
        yield from _check_volume_of_home(fleet)
        yield from (problem.under("clusters", name) for problem in _check_own(fleet, cluster, shape))


def _check_place(fleet: Fleet) -> list[Problem]:
    network = fleet.network
    return check_place(has_network=network is not None, internet=network.internet if network is not None else None)


def _check_own(fleet: Fleet, config: ParallelClusterConfig, shape: ClusterShape) -> Iterator[Problem]:
    """Return what is wrong with the keys that only a fleet file has."""
    yield from _check_zones(config, fleet.region)
    yield from check_iam_prefix(config.iam_resource_prefix, "iam_resource_prefix")
    for queue in config.queues.values():
        yield from (problem.under("queues", queue.name) for problem in _check_written_once(queue))
    yield from check_bucket_names(config, fleet)
    yield from check_node_setup(
        config,
        config.steps,
        group_names=[group for group, _, _ in _nodes(config)],
        instance_types=_instance_types(config),
        mount_paths=[storage.mount_dir for storage in shape.shared_storage],
        nodes=_nodes(config),
    )


def _check_zones(config: ParallelClusterConfig, region: str) -> Iterator[Problem]:
    if config.availability_zone_id is not None:
        yield from check_az_id(region, config.availability_zone_id)
    for queue in config.queues.values():
        if queue.availability_zone_id is not None:
            found = check_az_id(region, queue.availability_zone_id)
            yield from (problem.under("queues", queue.name) for problem in found)


def _check_written_once(queue: Queue) -> Iterator[Problem]:
    """What is of one kind of instances is said by the queue, or by each of its resources; and types in one way."""
    if not queue.resources:
        yield from _check_types_once(queue)
        return
    for resource in queue.resources:
        yield from (problem.under("resources", resource.name) for problem in _check_types_once(resource))
    for attribute in OF_ITS_RESOURCE:
        if attribute in queue.model_fields_set:
            yield Problem(
                code=Code.CONTRADICTION,
                message="this is of one kind of instances, and `resources` names several",
                remedy="write it below each of `resources` that it is of, or remove `resources`",
                path=(attribute,),
                value=getattr(queue, attribute),
            )


def _check_types_once(instances: Instances) -> Iterator[Problem]:
    if instances.instance_type is not None and instances.instance_types:
        yield Problem(
            code=Code.CONTRADICTION,
            message="`type` says one instance type, and `types` several",
            remedy="write all of them under `types`, or remove `types`",
            path=("instance_types",),
            value=list(instances.instance_types),
        )


def _check_volume_of_home(fleet: Fleet) -> Iterator[Problem]:
    home = fleet.storage.home
    if home is not None and home.existing is not None and home.existing.volume_id is None:
        yield Problem(
            code=Code.PC_OPEN_ZFS_VOLUME,
            message="ParallelCluster mounts an OpenZFS file system by a volume, and nobody told which",
            remedy="add `volume: fsvol-…`; `aws fsx describe-volumes` tells the id of the root volume",
            path=("storage", "home", "existing", "volume_id"),
        )


def _nodes(config: ParallelClusterConfig) -> list[NodeOfGroup]:
    hook = ParallelClusterHook.ON_NODE_CONFIGURED.value
    return [
        (HEAD_NODE, NodeType.CONTROLLER, hook),
        *((name, NodeType.COMPUTE, hook) for name in config.queues),
        *((f"LoginNodes-{name}", NodeType.LOGIN, hook) for name in config.login_pools),
    ]


def _instance_types(config: ParallelClusterConfig) -> list[str]:
    resources = (resource for queue in config.queues.values() for resource in queue.compute_resources)
    pools = (pool.instance_type for pool in config.login_pools.values())
    return [config.head_node.instance_type, *(name for each in resources for name in each.types), *pools]
