"""Subnets of queues, and addresses in them."""

from collections import Counter

from llm_fleet.catalog.ec2_instances import ec2_facts_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.defaults import efa_of
from llm_fleet.rules.parallelcluster.keyed_value import check_keyed
from llm_fleet.rules.parallelcluster.overridden import overridden
from llm_fleet.rules.parallelcluster.terms import StorageKind
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue

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
        Problem(
            code=Code.PC_SUBNETS,
            message=f"the subnet {subnet} is named more than once",
            remedy="name it once",
            path=("subnets",),
            value=subnet,
        )
        for subnet in repeated
    ]
    return problems


def check_fsx_subnets(cluster: ClusterShape) -> list[Problem]:
    """Check that a Lustre of ParallelCluster's own has all compute nodes in one subnet (ManagedFsxMultiAzValidator)."""
    subnets = {subnet for queue in cluster.queues for subnet in queue.subnet_ids if not is_unresolved(subnet)}
    if len(subnets) < 2:
        return []
    return [
        Problem(
            code=Code.PC_FSX_SUBNETS,
            message=f"ParallelCluster makes this Lustre in one subnet, and the queues are in {len(subnets)}",
            remedy="make the file system outside of the cluster and give its id, or put all queues into one subnet",
            path=("shared_storage", storage.name, "existing_id"),
        )
        for storage in cluster.shared_storage
        if storage.kind == StorageKind.FSX_LUSTRE and storage.existing_id is None
    ]


def check_public_addresses(cluster: ClusterShape) -> list[Problem]:
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


def _check_public_address(queue: Queue, *, own_interface: bool) -> list[Problem]:
    several = [
        name
        for resource in queue.compute_resources
        if (name := _type_of_several_interfaces(resource, own_interface=own_interface))
    ]
    if not several:
        return []
    return [
        Problem(
            code=Code.PC_PUBLIC_ADDRESS,
            message=f"{', '.join(dict.fromkeys(several))} starts with several network interfaces, and EC2 gives such "
            "an instance no public address",
            remedy="leave assign_public_ip out, and use a private subnet with a NAT gateway or endpoints",
            path=("assign_public_ip",),
            value=True,
        )
    ]


def _type_of_several_interfaces(resource: ComputeResource, *, own_interface: bool) -> str | None:
    """The name of the type that starts with several interfaces: that with the fewest network cards, as theirs."""
    known = [facts for name in resource.types if not is_unresolved(name) and (facts := ec2_facts_of(name))]
    if not known or len(known) < len(resource.types):
        return None
    fewest = min(known, key=lambda facts: facts.network_cards)
    efa_on_first_card = min(facts.efa_interfaces for facts in known) == fewest.network_cards
    if fewest.network_cards > 1 or (own_interface and efa_of(resource) and efa_on_first_card):
        return fewest.name
    return None
