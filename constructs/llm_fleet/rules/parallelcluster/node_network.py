"""Network of the nodes: subnets, addresses, and the Elastic Fabric Adapter (EFA).

EFA requires an explicit placement group setting (EfaPlacementGroupValidator): `placement_group_of` always returns one,
so there is no rule for it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from llm_fleet.catalog.ec2_instances import ec2_instance, ec2_instance_names
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_keyed
from llm_fleet.rules.parallelcluster.nodes import efa_of, known_types
from llm_fleet.rules.parallelcluster.schema_sections import overridden
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.terms import InternetAccess, StorageKind
from llm_fleet.spec.parallelcluster import PlacedParallelCluster
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue


@rule
def check_place(*, has_network: bool, internet: str | None) -> Iterator[Problem]:
    """Return why a cluster cannot be in this network, at the attribute `network`. `internet`: `None` when unknown."""
    if not has_network:
        yield Problem(
            code=Code.PARALLELCLUSTER_NETWORK,
            message="a ParallelCluster requires a VPC",
            remedy="write the AZ of a new network, or an existing network",
            path=("network",),
        )
    elif internet == InternetAccess.NONE:
        yield Problem(
            code=Code.PARALLELCLUSTER_CLOSED,
            message="the head node calls Route 53, DynamoDB and CloudFormation, which it "
            "cannot reach from a closed network",
            value=str(internet),
            allowed=f"{InternetAccess.NAT}, {InternetAccess.SHARED_NAT}",
            remedy=f"write `{InternetAccess.NAT}`: nodes then have no public address and cannot be reached from "
            "the internet",
            path=("network", "internet"),
        )


_QUEUE = "Scheduling/SlurmQueues[]/Networking"


def has_several_subnets(queue: Queue) -> bool:
    """Return whether the queue's nodes are in several subnets, and so in several AZs (EC2 allows one subnet per AZ)."""
    return not is_unresolved(queue.subnet_ids) and len(set(queue.subnet_ids)) > 1


def check_subnets(queue: Queue) -> list[Problem]:
    """Check a queue's subnets: their IDs, and that each is listed once (QueueSubnetsValidator).

    A single instance type in several subnets is rendered as a list with one item, as SingleInstanceTypeSubnetValidator
    requires.
    """
    if is_unresolved(queue.subnet_ids):
        return []
    repeated = [subnet for subnet, count in Counter(queue.subnet_ids).items() if count > 1]
    problems = [
        problem
        for index, subnet in enumerate(queue.subnet_ids)
        for problem in check_keyed(
            f"{_QUEUE}/SubnetIds[]", subnet, Code.PC_RESOURCE_ID, "subnets", index, what="the ID of the subnet"
        )
    ]
    problems += [
        queue.wrong(
            "subnets", Code.PC_SUBNETS, f"the subnet {subnet} is listed more than once", "list it once", value=subnet
        )
        for subnet in repeated
    ]
    return problems


@rule
def check_fsx_subnets(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that a new Lustre file system has all compute nodes in one subnet (ManagedFsxMultiAzValidator)."""
    subnets = {subnet for queue in cluster.queues for subnet in queue.subnet_ids if not is_unresolved(subnet)}
    if len(subnets) >= 2:
        for storage in cluster.shared_storage:
            if storage.kind == StorageKind.FSX_LUSTRE and storage.existing_id is None:
                yield cluster.wrong(
                    ("shared_storage", storage.name, "existing_id"),
                    Code.PC_FSX_SUBNETS,
                    "ParallelCluster makes this Lustre file system in one subnet, but the queues are in "
                    f"{len(subnets)}",
                    "make the file system outside the cluster and write its ID, or put all queues into one subnet",
                    value=None,
                )


def check_public_addresses(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that no node with several network interfaces has a public address, which EC2 does not support.

    Since 3.16 this applies to a single card with EFA, too, since EFA has its own interface there, unless
    `DevSettings/EfaInterfaceType` says `efa` (MultiNetworkInterfacesInstancesValidator).
    """
    own_interface = overridden(cluster.overrides, "DevSettings", "EfaInterfaceType") != "efa"
    return [
        problem.under("queues", queue.name)
        for queue in cluster.queues
        if queue.assign_public_ip is True
        for problem in _check_public_address(queue, own_interface=own_interface)
    ]


def _check_public_address(queue: Queue, *, own_interface: bool) -> Iterator[Problem]:
    several = [
        name
        for resource in queue.compute_resources
        if (name := _type_of_several_interfaces(resource, own_interface=own_interface))
    ]
    if several:
        yield queue.wrong(
            "assign_public_ip",
            Code.PC_PUBLIC_ADDRESS,
            f"{', '.join(dict.fromkeys(several))} has several network interfaces, and EC2 does not assign "
            "a public address to such an instance",
            "remove assign_public_ip, and use a private subnet with a NAT gateway or endpoints",
            value=True,
        )


def _type_of_several_interfaces(resource: ComputeResource, *, own_interface: bool) -> str | None:
    """The type that has several interfaces: the one with the fewest network cards, as in their validator."""
    known = known_types(resource)
    if not known or len(known) < len(resource.types):
        return None
    fewest = min(known, key=lambda facts: facts.network_cards)
    efa_on_first_card = min(facts.efa_interfaces for facts in known) == fewest.network_cards
    if fewest.network_cards > 1 or (own_interface and efa_of(resource) and efa_on_first_card):
        return fewest.name
    return None


def check_efa_type(resource: ComputeResource) -> list[Problem]:
    """Check that every type supports EFA when EFA is on (EfaValidator, InstancesEFAValidator)."""
    if is_unresolved(resource.efa) or not resource.efa:
        return _check_gdr(resource)
    known = known_types(resource)
    return [
        resource.wrong(
            "efa",
            Code.PC_EFA_TYPE,
            f"{facts.name} does not support EFA",
            f"remove `efa`, or write `{larger}`, which supports it"
            if (larger := _larger_with_efa(facts.family))
            else "remove `efa`, or write a type that supports it, e.g. `trn1.32xlarge`",
            value=True,
        )
        for facts in known
        if not facts.efa_interfaces
    ]


@rule
def check_efa_subnets(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that nodes with EFA are in one subnet: EFA traffic cannot cross AZs (EfaMultiAzValidator)."""
    if efa_of(resource) and has_several_subnets(queue):
        yield Problem(
            code=Code.PC_EFA_SUBNETS,
            message=f"EFA traffic cannot cross AZs, but the queue is in {len(queue.subnet_ids)} subnets",
            remedy="put the queue into one subnet, or write `efa: false`",
            path=("efa",),
            value=True if resource.efa else None,
        )


@rule
def _check_gdr(resource: ComputeResource) -> Iterator[Problem]:
    """GPUDirect without EFA. It has no effect since ParallelCluster 3, and can only be set by `overrides`."""
    if overridden(resource.overrides, "Efa", "GdrSupport") is True and not efa_of(resource):
        yield resource.wrong(
            ("overrides", "Efa", "GdrSupport"),
            Code.PC_EFA_TYPE,
            "GPUDirect is a feature of EFA, and EFA is off",
            "remove GdrSupport: it is on wherever EFA supports it",
            value=True,
        )


def _larger_with_efa(family: str) -> str | None:
    names = [name for name in ec2_instance_names() if name.startswith(f"{family}.")]
    having = [facts for name in names if (facts := ec2_instance(name)) and facts.efa_interfaces]
    return min(having, key=lambda facts: facts.vcpus).name if having else None


def address_claims(
    *,
    head_node: HeadNode,
    queues: Sequence[Queue],
    login_pools: Sequence[LoginPool],
    owner: str,
    zone: str | None,
    efa_with_address: bool = False,
) -> list[AddressClaim]:
    """Return the addresses that the cluster `owner` requires, with its head node and login pools in the AZ `zone`.

    A head node or pool with its own subnet, and a queue without an AZ, do not count. `efa_with_address`: every EFA
    interface has an address (`DevSettings/EfaInterfaceType: efa`). Default: none has.
    """
    claims: list[AddressClaim] = []
    if head_node.subnet_id is None:
        claims.append(AddressClaim(owner=owner, what="head node", count=1, addresses_each=1, availability_zone_id=zone))
    claims += [_of_pool(pool, owner, zone) for pool in login_pools if pool.subnet_id is None]
    return [*claims, *(claim for queue in queues for claim in _of_queue(queue, owner, efa_with_address))]


def _of_pool(pool: LoginPool, owner: str, zone: str | None) -> AddressClaim:
    return AddressClaim(
        owner=f"{owner}/{pool.name}",
        what="login nodes and their load balancer",
        count=_number(pool.count) + 1,
        addresses_each=1,
        availability_zone_id=zone,
    )


def _of_queue(queue: Queue, owner: str, efa_with_address: bool) -> Iterator[AddressClaim]:
    if queue.availability_zone_id is None:
        return
    for resource in queue.compute_resources:
        addresses, interfaces = _of_node(resource, efa_with_address)
        yield AddressClaim(
            owner=f"{owner}/{queue.name}/{resource.name}",
            what=", ".join(resource.types) or "nodes of a Capacity Block",
            count=_number(resource.max_count),
            addresses_each=addresses,
            interfaces_each=interfaces,
            availability_zone_id=queue.availability_zone_id,
        )


def _number(count: int) -> int:
    """A number that is resolved at deployment counts as 0."""
    return 0 if is_unresolved(count) else max(count, 0)


def _of_node(resource: ComputeResource, efa_with_address: bool) -> tuple[int, int]:
    """Return the number of addresses and of network interfaces of a node.

    As `add_network_interfaces` in pcluster/templates/queues_stack.py: each network card has an interface. With EFA,
    those beyond the first are `efa-only`, without an address, and the first card has one of these in addition to its
    own interface when there are as many EFA interfaces as cards.
    """
    known = known_types(resource)
    cards = max((facts.network_cards for facts in known), default=1)
    if not efa_of(resource) or efa_with_address:
        return cards, cards
    return 1, cards + any(facts.efa_interfaces == facts.network_cards for facts in known)
