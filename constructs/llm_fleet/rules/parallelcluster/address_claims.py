"""What a ParallelCluster takes of the network's compute subnets when all its nodes run."""

from collections.abc import Iterator, Sequence

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.parallelcluster.defaults import efa_of
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue


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
    known = [facts for name in resource.types if (facts := ec2_facts_of(name)) is not None]
    cards = max((facts.network_cards for facts in known), default=1)
    if not efa_of(resource) or efa_with_address:
        return cards, cards
    return 1, cards + any(facts.efa_interfaces == facts.network_cards for facts in known)
