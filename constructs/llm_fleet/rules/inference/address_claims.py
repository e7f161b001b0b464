"""What the hosts of an inference service and their tasks take of the compute subnets."""

import math
from collections.abc import Sequence

from llm_fleet.catalog.addresses import address_facts
from llm_fleet.rules.inference.protocols import HostsLike, ScalingLike
from llm_fleet.rules.inference.scaling import maximum_of
from llm_fleet.rules.inference.terms import Capacity
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.tokens import is_unresolved


def address_claims(
    hosts: HostsLike, scaling: ScalingLike, *, owner: str, zones: Sequence[str], neuron_health: bool = True
) -> list[AddressClaim]:
    """Return a claim for each of `zones`, over which the hosts are spread: as many as there may be at most.

    Each host has an address, as has its serving task, which is in the VPC by itself (`awsvpc`), and the daemon that
    watches the devices of EC2 hosts (`neuron_health`). The load balancer stands in other subnets. A number that is
    known only at deploy time claims nothing.
    """
    most = maximum_of(scaling)
    if is_unresolved(most) or is_unresolved(hosts.instance_type) or not zones:
        return []
    facts = address_facts()
    daemon = neuron_health and hosts.capacity == Capacity.EC2
    return [
        AddressClaim(
            owner=owner,
            what=f"{hosts.instance_type} with its task",
            count=math.ceil(most / len(zones)),
            addresses_each=facts.addresses_of_serving_host + (facts.addresses_of_daemon if daemon else 0),
            availability_zone_id=zone,
            replaceable=True,
        )
        for zone in zones
    ]
