"""A network to are in, for tests of something else."""

from constructs import Construct

from llm_fleet.network.network import ExistingNetwork, Network
from llm_fleet.spec.network import ExistingNetworkSpec

SUBNETS = {"usw2-az4": "subnet-0123456789abcdef4", "usw2-az1": "subnet-0123456789abcdef1"}


def existing_network(scope: Construct) -> Network:
    """Return a network with a security group that is made here: far fewer constructs than one that is made whole."""
    return ExistingNetwork(scope, "Network", ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets=SUBNETS))
