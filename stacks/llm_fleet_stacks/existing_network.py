"""The network as one stack sees it."""

from constructs import Construct

from llm_fleet.config.network import NetworkConfig
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network


def network_for(scope: Construct, network: Network | NetworkConfig | None) -> Network | None:
    """Return `network` for use in `scope`'s stack: as it is if a stack made it, imported if it existed before."""
    if not isinstance(network, NetworkConfig):
        return network
    if network.vpc is None:
        raise TypeError("the description of a new network belongs in a NetworkStack")
    return FleetNetwork.from_ids(scope, "Network", network.vpc)
