"""Nodes of a cluster: defaults by instance type, access, numbers and memory.

Rules, construct and fleet file share the defaults. An explicit value always wins. Nothing is assumed about a type that
the catalog does not have.
"""

import re
from collections.abc import Iterator, Sequence

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.ec2_instances import Ec2Instance, ec2_facts_of
from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_keyed
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved, rule
from llm_fleet.rules.terms import CapacityType, NodeType, ParallelClusterHook, StorageKind
from llm_fleet.rules.training.environment_place import SharedFolder
from llm_fleet.rules.values import check_number
from llm_fleet.spec.cluster import NodeGroup
from llm_fleet.spec.parallelcluster import ParallelClusterSpec, PlacedParallelCluster, SharedStorage
from llm_fleet.spec.parallelcluster_nodes import Dcv, HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import CapacityReservation, ComputeResource, PlacementGroup, Queue

_HOME = "home"


def efa_of(resource: ComputeResource) -> bool:
    """Return whether EFA is on. Default: on when every instance type supports it.

    Training over plain TCP is several times slower, and EFA costs nothing.
    """
    if resource.efa is not None:
        return resource.efa
    known = known_types(resource)
    return bool(known) and len(known) == len(resource.types) and all(facts.efa_interfaces > 0 for facts in known)


HEAD_NODE = "HeadNode"
"""Name of the head node's group."""


def pool_group(pool: LoginPool) -> str:
    """Return the name of the group of `pool`; a queue can have the same name as a pool."""
    return f"LoginNodes-{pool.name}"


def node_groups(cluster: ParallelClusterSpec) -> list[NodeGroup]:
    """Return every group of nodes: the head node, each queue under its name, each login pool."""
    hook = None if cluster.scripts is None else ParallelClusterHook.ON_NODE_CONFIGURED
    head = NodeGroup(
        name=HEAD_NODE,
        role=NodeType.CONTROLLER,
        instance_types=[cluster.head_node.instance_type],
        efa=False,
        hook=hook,
    )
    queues = [
        NodeGroup(
            name=queue.name,
            role=NodeType.COMPUTE,
            instance_types=list(dict.fromkeys(name for resource in queue.compute_resources for name in resource.types)),
            partition=queue.name,
            efa=any(efa_of(resource) for resource in queue.compute_resources),
            hook=hook,
        )
        for queue in cluster.queues
    ]
    pools = [
        NodeGroup(name=pool_group(pool), role=NodeType.LOGIN, instance_types=[pool.instance_type], efa=False, hook=hook)
        for pool in cluster.login_pools
    ]
    return [head, *queues, *pools]


def shared_folder(storage: SharedStorage) -> SharedFolder:
    """Return `storage`, which ParallelCluster mounts on every node, as the training rules read it."""
    lustre = storage.kind is StorageKind.FSX_LUSTRE
    return SharedFolder(kind="lustre" if lustre else storage.kind.value, path=storage.mount_dir)


def exclusive_of(queue: Queue) -> bool:
    """Return whether a job has exclusive nodes. Default: yes when any instance type has accelerators.

    ParallelCluster's Slurm does not count Neuron devices, so two jobs on one node would use the same devices.
    """
    if queue.exclusive is not None:
        return queue.exclusive
    return any(facts.accelerator is not None for resource in queue.compute_resources for facts in known_types(resource))


def known_types(resource: ComputeResource) -> list[Ec2Instance]:
    """Return the facts of the known instance types of `resource`."""
    return [facts for name in resource.types if not is_unresolved(name) and (facts := ec2_facts_of(name))]


def capacity_reservation_of(queue: Queue, resource: ComputeResource) -> CapacityReservation | None:
    """Return the reservation of `resource`: its own, else its queue's."""
    return resource.capacity_reservation or queue.capacity_reservation


def placement_group_of(queue: Queue, resource: ComputeResource) -> PlacementGroup | None:
    """Return the placement group of `resource`; `None` for no setting.

    Default: a group that ParallelCluster makes when EFA is on, where ParallelCluster requires a setting. None with
    reserved capacity, which can be outside of it or has its own group, or in several subnets. AWS places Capacity
    Blocks.
    """
    given = resource.placement_group or queue.placement_group
    if given is not None or not efa_of(resource) or queue.capacity_type is CapacityType.CAPACITY_BLOCK:
        return given
    if capacity_reservation_of(queue, resource) is not None or len(queue.subnet_ids) > 1:
        return PlacementGroup.none()
    return PlacementGroup.managed()


def gpu_health_check_of(queue: Queue, resource: ComputeResource) -> bool:
    """Return whether NVIDIA's diagnostics run before jobs, by compute resource or else queue. Default: no."""
    own = resource.gpu_health_check if resource.gpu_health_check is not None else queue.gpu_health_check
    return bool(own)


def has_home_of_its_own(cluster: PlacedParallelCluster) -> bool:
    """Return whether /home is a shared storage of the cluster instead of the head node's volume.

    The default user then gets a home outside of it (`DefaultUserHome: Local`); otherwise the mount would hide its keys.
    """
    return any(storage.mount_dir.strip("/") == _HOME for storage in cluster.shared_storage)


_BYTE = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_RANGE = re.compile(rf"({_BYTE}\.){{3}}{_BYTE}/([0-9]|[12][0-9]|3[0-2])")
_PREFIX_LIST = re.compile(r"pl-[0-9a-zA-Z]+")
_ELASTIC_IP = re.compile(r"eipalloc-[0-9a-f]{8,17}")
_PORTS = Limit(minimum=1, maximum=65535)
_SSH = 22


@rule
def check_head_access(head: HeadNode) -> Iterator[Problem]:
    """Check IDs, addresses and the remote desktop of the head node."""
    own = "HeadNode/Networking"
    yield from check_keyed(
        f"{own}/SubnetId", head.subnet_id, Code.PC_RESOURCE_ID, "subnet", what="the ID of the subnet"
    )
    yield from _check_groups(head.security_group_ids)
    yield from _check_image(head.image_id)
    yield from check_allowed_ips(head.allowed_ips, "allowed_ips")
    yield from check_dcv(head.dcv)
    address = head.elastic_ip
    if isinstance(address, str) and not is_unresolved(address) and not _ELASTIC_IP.fullmatch(address):
        yield head.wrong(
            "elastic_ip",
            Code.PC_RESOURCE_ID,
            "this is not the allocation ID of an Elastic IP address",
            "write the AllocationId that `aws ec2 describe-addresses` shows, or true for a new one",
            allowed="eipalloc-0123456789abcdef0, true or false",
        )


def check_queue_ids(queue: Queue) -> list[Problem]:
    """Check the IDs of a queue's security groups and image; subnets have their own rule."""
    return [*_check_groups(queue.security_group_ids), *_check_image(queue.image_id)]


def check_login_pool_nodes(pool: LoginPool) -> list[Problem]:
    """Check IDs, addresses, number and grace period of login nodes."""
    own = "LoginNodes/Pools[]"
    return [
        *check_keyed(
            f"{own}/Networking/SubnetIds[]",
            pool.subnet_id,
            Code.PC_RESOURCE_ID,
            "subnet",
            what="the ID of the subnet",
        ),
        *_check_groups(pool.security_group_ids),
        *_check_image(pool.image_id),
        *check_allowed_ips(pool.allowed_ips, "allowed_ips"),
        *check_dcv(pool.dcv),
        *check_keyed(f"{own}/Count", pool.count, Code.PC_LOGIN_POOL, "count", what="the number of login nodes"),
        *check_keyed(
            f"{own}/GracetimePeriod",
            pool.gracetime_minutes,
            Code.PC_LOGIN_POOL,
            "gracetime_minutes",
            what="the grace period of login nodes",
        ),
    ]


@rule
def check_allowed_ips(value: str | None, *path: PathPart) -> Iterator[Problem]:
    """Check that `value` is an IPv4 range or the ID of a prefix list, as the schema does."""
    if value is None or is_unresolved(value) or _RANGE.fullmatch(value) or _PREFIX_LIST.fullmatch(value):
        return
    bare = re.fullmatch(rf"({_BYTE}\.){{3}}{_BYTE}", value)
    yield Problem(
        code=Code.PC_ALLOWED_IPS,
        message="an address range requires a prefix length" if bare else "this is not an address range",
        remedy=f"write `{value + '/32'}` for this address alone" if bare else "write e.g. `203.0.113.0/24`",
        path=path,
        value=value,
        allowed="an IPv4 range, e.g. 203.0.113.0/24, or the ID of a prefix list, pl-…",
    )


@rule
def check_dcv(dcv: Dcv | None) -> Iterator[Problem]:
    """Check port and addresses of a remote desktop. Stricter: ParallelCluster accepts any number as the port."""
    if dcv is None:
        return
    yield from check_number(
        dcv.port, _PORTS, Code.PC_DCV, "dcv", "port", what="the port", remedy="remove it for the default 8443"
    )
    yield from check_allowed_ips(dcv.allowed_ips, "dcv", "allowed_ips")
    if dcv.port == _SSH:
        yield Problem(
            code=Code.PC_DCV,
            message="port 22 is used by SSH",
            remedy="remove it for the default 8443",
            path=("dcv", "port"),
            value=dcv.port,
        )


def _check_groups(ids: Sequence[str]) -> list[Problem]:
    if is_unresolved(ids):
        return []
    return [
        problem
        for index, group in enumerate(ids)
        for problem in check_keyed(
            "HeadNode/Networking/AdditionalSecurityGroups[]",
            group,
            Code.PC_RESOURCE_ID,
            "security_groups",
            index,
            what="the ID of the security group",
        )
    ]


def _check_image(image_id: str | None) -> list[Problem]:
    return check_keyed("Image/CustomAmi", image_id, Code.PC_IMAGE, "image_id", what="the ID of the image")


_RESOURCE = "Scheduling/SlurmQueues[]/ComputeResources[]"
_MIB_PER_GIB = 1024


def check_counts(resource: ComputeResource) -> list[Problem]:
    """Check the numbers of nodes (ComputeResourceSizeValidator) and the priorities of nodes."""
    least, most = resource.min_count, resource.max_count
    problems = [
        *check_keyed(f"{_RESOURCE}/MinCount", least, Code.PC_NODE_COUNT, "min_count", what="the number of nodes"),
        *check_keyed(f"{_RESOURCE}/MaxCount", most, Code.PC_NODE_COUNT, "max_count", what="the number of nodes"),
        *check_keyed(
            f"{_RESOURCE}/StaticNodePriority",
            resource.static_node_priority,
            Code.PC_NODE_PRIORITY,
            "static_node_priority",
            what="the priority",
        ),
        *check_keyed(
            f"{_RESOURCE}/DynamicNodePriority",
            resource.dynamic_node_priority,
            Code.PC_NODE_PRIORITY,
            "dynamic_node_priority",
            what="the priority",
        ),
    ]
    if problems or is_unresolved((least, most)) or least <= most:
        return problems
    return [
        resource.wrong(
            "min_count",
            Code.PC_NODE_COUNT,
            f"min_count {least} is above max_count {most}",
            f"write max_count {least} or more, or min_count {most} or less",
            allowed=f"0 to {most}",
        )
    ]


@rule
def check_memory(resource: ComputeResource) -> Iterator[Problem]:
    """Check that the schedulable memory is at most that of the smallest type (SchedulableMemoryValidator)."""
    memory = resource.schedulable_memory_mib
    if memory is None or is_unresolved(memory):
        return
    known = known_types(resource)
    smallest = min(known, key=lambda facts: facts.memory_gib, default=None)
    most = None if smallest is None else int(smallest.memory_gib * _MIB_PER_GIB)
    if memory >= 1 and (most is None or memory <= most):
        return
    has = f", but {smallest.name} has {most} MiB" if smallest and most is not None else ""
    yield resource.wrong(
        "schedulable_memory_mib",
        Code.PC_SCHEDULABLE_MEMORY,
        f"the schedulable memory is {memory} MiB{has}",
        f"remove it for 95 % of the memory, or write {most * 95 // 100 if most else 1} MiB",
        allowed=f"1 to {most} MiB" if most else "1 MiB or more",
    )


def check_queue_number(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check the number of queues, of compute resources in total of them, and of login pools (MaxCountValidator)."""
    limits = parallelcluster_limits()
    resources = sum(len(queue.compute_resources) for queue in cluster.queues)
    return [
        *_check_number(len(cluster.queues), limits.queues, Code.PC_QUEUE_NUMBER, "queues", what="queues"),
        *_check_number(
            # Too many queues imply too many compute resources.
            resources if limits.queues.holds(len(cluster.queues)) else 1,
            limits.compute_resources,
            Code.PC_RESOURCE_NUMBER,
            "queues",
            what="compute resources in total",
        ),
        *_check_number(
            len(cluster.login_pools),
            limits.login_pools,
            Code.PC_POOL_NUMBER,
            "login_pools",
            what="login pools",
            remedy="give one pool more nodes",
        ),
    ]


@rule
def check_head_memory(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that the head node has enough memory for the number of nodes (HeadNodeMemorySizeValidator)."""
    name = cluster.head_node.instance_type
    facts = None if is_unresolved(name) else ec2_facts_of(name)
    counts = [resource.max_count for queue in cluster.queues for resource in queue.compute_resources]
    if facts is None or is_unresolved(counts):
        return
    limits, nodes = parallelcluster_limits(), sum(counts)
    needed = min(nodes / limits.nodes_per_gib + limits.head_base_gib, limits.head_most_gib)
    if facts.memory_gib < needed:
        yield cluster.wrong(
            ("head_node", "instance_type"),
            Code.PC_HEAD_MEMORY,
            f"{name} has {facts.memory_gib:g} GiB of memory, but a head node for {nodes} nodes requires "
            f"{needed:.1f} GiB",
            "write a head node type with more memory, e.g. `m5.2xlarge` (32 GiB) or `m7g.2xlarge` on arm64",
            allowed=f"{needed:.1f} GiB or more",
            value=name,
        )


def _check_number(
    number: int,
    limit: Limit,
    code: Code,
    *path: str,
    what: str,
    remedy: str = "put several instance types into one compute resource, or write a second cluster",
) -> Iterator[Problem]:
    if limit.holds(number):
        return
    many = number > (limit.maximum or number)
    yield Problem(
        code=code,
        message=f"the cluster has {number} {what}, {number - (limit.maximum or 0)} too many"
        if many
        else f"the cluster has no {what}",
        remedy=remedy if many else f"add at least {limit.minimum}",
        path=path,
        value=number,
        allowed=limit.range,
    )
