"""A network for tests of other resources."""

from constructs import Construct

from llm_fleet.network.network import ExistingNetwork, Network
from llm_fleet.spec.network import ExistingNetworkSpec

SUBNETS = {"usw2-az4": "subnet-0123456789abcdef4", "usw2-az1": "subnet-0123456789abcdef1"}


def existing_network(scope: Construct) -> Network:
    """Return an existing VPC with a new security group: far fewer constructs than a new network."""
    return ExistingNetwork(scope, "Network", ExistingNetworkSpec(vpc="vpc-0123456789abcdef0", subnets=SUBNETS))
