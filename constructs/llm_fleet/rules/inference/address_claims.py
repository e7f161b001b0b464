"""What the hosts of an inference service and their tasks take of the compute subnets."""

import math
from collections.abc import Sequence

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.inference.protocols import HostsLike, ScalingLike
from llm_fleet.rules.inference.scaling import maximum_of
from llm_fleet.rules.network_claim import AddressClaim
from llm_fleet.rules.tokens import is_unresolved


def address_claims(hosts: HostsLike, scaling: ScalingLike, *, owner: str, zones: Sequence[str]) -> list[AddressClaim]:
    """Return a claim for each of `zones`, over which the hosts are spread: as many as there may be at most.

    Each host has an address, as has its serving task, which is in the VPC by itself (`awsvpc`). The load balancer
    stands in other subnets. A number that is known only at deploy time claims nothing.
    """
    most = maximum_of(scaling)
    if is_unresolved(most) or is_unresolved(hosts.instance_type) or not zones:
        return []
    return [
        AddressClaim(
            owner=owner,
            what=f"{hosts.instance_type} with its task",
            count=math.ceil(most / len(zones)),
            addresses_each=address_facts().addresses_of_serving_host,
            availability_zone_id=zone,
            replaceable=True,
        )
        for zone in zones
    ]
