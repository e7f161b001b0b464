"""The network of the nodes: subnets, addresses, and the Elastic Fabric Adapter.

EFA: which instances have it, and what it asks of subnets.

That EFA must come with a word about placement (EfaPlacementGroupValidator) needs no rule: `placement_group_of` says one
wherever EFA is on.
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
    """Return why a cluster cannot stand there, by the attribute `network`; `internet`: `None` is not known."""
    if not has_network:
        yield Problem(
            code=Code.PARALLELCLUSTER_NETWORK,
            message="a ParallelCluster stands in a VPC, and there is none",
            remedy="name the AZ that its subnet is to be made in, or a network that exists",
            path=("network",),
        )
    elif internet == InternetAccess.NONE:
        yield Problem(
            code=Code.PARALLELCLUSTER_CLOSED,
            message="the head node writes the names of nodes to Route 53, and calls DynamoDB and CloudFormation: it "
            "reaches none of them from a closed network",
            value=str(internet),
            allowed=f"{InternetAccess.NAT}, {InternetAccess.SHARED_NAT}",
            remedy=f"write `{InternetAccess.NAT}`: nodes have no public address with it, and nobody reaches them",
            path=("network", "internet"),
        )


_QUEUE = "Scheduling/SlurmQueues[]/Networking"


def has_several_subnets(queue: Queue) -> bool:
    """Return whether the queue's nodes are in several subnets, and so in several AZs: EC2 takes one of each."""
    return not is_unresolved(queue.subnet_ids) and len(set(queue.subnet_ids)) > 1


def check_subnets(queue: Queue) -> list[Problem]:
    """Check a queue's subnets: their ids, and that each is named once (QueueSubnetsValidator).

    A single instance type in several subnets is rendered as a list of one, which SingleInstanceTypeSubnetValidator
    asks for.
    """
    if is_unresolved(queue.subnet_ids):
        return []
    repeated = [subnet for subnet, count in Counter(queue.subnet_ids).items() if count > 1]
    problems = [
        problem
        for index, subnet in enumerate(queue.subnet_ids)
        for problem in check_keyed(
            f"{_QUEUE}/SubnetIds[]", subnet, Code.PC_RESOURCE_ID, "subnets", index, what="the id of the subnet"
        )
    ]
    problems += [
        queue.wrong(
            "subnets", Code.PC_SUBNETS, f"the subnet {subnet} is named more than once", "name it once", value=subnet
        )
        for subnet in repeated
    ]
    return problems


@rule
def check_fsx_subnets(cluster: PlacedParallelCluster) -> Iterator[Problem]:
    """Check that a Lustre of ParallelCluster's own has all compute nodes in one subnet (ManagedFsxMultiAzValidator)."""
    subnets = {subnet for queue in cluster.queues for subnet in queue.subnet_ids if not is_unresolved(subnet)}
    if len(subnets) >= 2:
        for storage in cluster.shared_storage:
            if storage.kind == StorageKind.FSX_LUSTRE and storage.existing_id is None:
                yield cluster.wrong(
                    ("shared_storage", storage.name, "existing_id"),
                    Code.PC_FSX_SUBNETS,
                    f"ParallelCluster makes this Lustre in one subnet, and the queues are in {len(subnets)}",
                    "make the file system outside of the cluster and give its id, or put all queues into one subnet",
                    value=None,
                )


def check_public_addresses(cluster: PlacedParallelCluster) -> list[Problem]:
    """Check that no node of several network interfaces is to have a public address: EC2 gives none to such.

    Since 3.16 that holds for a single card with EFA too, for EFA has an interface of its own there, unless
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
            f"{', '.join(dict.fromkeys(several))} starts with several network interfaces, and EC2 gives such "
            "an instance no public address",
            "leave assign_public_ip out, and use a private subnet with a NAT gateway or endpoints",
            value=True,
        )


def _type_of_several_interfaces(resource: ComputeResource, *, own_interface: bool) -> str | None:
    """The name of the type that starts with several interfaces: that with the fewest network cards, as theirs."""
    known = known_types(resource)
    if not known or len(known) < len(resource.types):
        return None
    fewest = min(known, key=lambda facts: facts.network_cards)
    efa_on_first_card = min(facts.efa_interfaces for facts in known) == fewest.network_cards
    if fewest.network_cards > 1 or (own_interface and efa_of(resource) and efa_on_first_card):
        return fewest.name
    return None


def check_efa_type(resource: ComputeResource) -> list[Problem]:
    """Check that every type has EFA where it is asked for (EfaValidator, InstancesEFAValidator)."""
    if is_unresolved(resource.efa) or not resource.efa:
        return _check_gdr(resource)
    known = known_types(resource)
    return [
        resource.wrong(
            "efa",
            Code.PC_EFA_TYPE,
            f"{facts.name} has no EFA",
            f"leave efa out, or take {larger!r}, which has it"
            if (larger := _larger_with_efa(facts.family))
            else "leave efa out, or take a type that has it, e.g. 'trn1.32xlarge'",
            value=True,
        )
        for facts in known
        if not facts.efa_interfaces
    ]


@rule
def check_efa_subnets(queue: Queue, resource: ComputeResource) -> Iterator[Problem]:
    """Check that nodes that talk by EFA are in one subnet: it does not cross AZs (EfaMultiAzValidator)."""
    if efa_of(resource) and has_several_subnets(queue):
        yield Problem(
            code=Code.PC_EFA_SUBNETS,
            message=f"EFA does not cross AZs, and the queue is in {len(queue.subnet_ids)} subnets",
            remedy="put the queue into one subnet, or write `efa: false`",
            path=("efa",),
            value=True if resource.efa else None,
        )


@rule
def _check_gdr(resource: ComputeResource) -> Iterator[Problem]:
    """GPUDirect without EFA; it has had no effect since ParallelCluster 3, and can come only by `overrides`."""
    if overridden(resource.overrides, "Efa", "GdrSupport") is True and not efa_of(resource):
        yield resource.wrong(
            ("overrides", "Efa", "GdrSupport"),
            Code.PC_EFA_TYPE,
            "GPUDirect is a feature of EFA, and EFA is off",
            "leave GdrSupport out: where EFA has it, it is on",
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
    """Return the addresses that the cluster `owner` takes, its head node and login pools in the AZ `zone`.

    A head node or pool with a subnet of its own, and a queue without an AZ, stand elsewhere. `efa_with_address`: every
    EFA interface has an address (`DevSettings/EfaInterfaceType: efa`); default, none has.
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
    """A number that only the deployment knows claims nothing."""
    return 0 if is_unresolved(count) else max(count, 0)


def _of_node(resource: ComputeResource, efa_with_address: bool) -> tuple[int, int]:
    """Return how many addresses and how many network interfaces a node takes.

    As `add_network_interfaces` in pcluster/templates/queues_stack.py: each network card has an interface. With EFA,
    those beyond the first are `efa-only`, without an address, and the first card has one of these beside its own
    interface if as many EFA interfaces as cards are there.
    """
    known = known_types(resource)
    cards = max((facts.network_cards for facts in known), default=1)
    if not efa_of(resource) or efa_with_address:
        return cards, cards
    return 1, cards + any(facts.efa_interfaces == facts.network_cards for facts in known)
