"""The stack of a fleet's network, which lives as long as the fleet, and the network as other stacks see it."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.network import NetworkConfig
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network
from llm_fleet.rules.terms import EndpointFeature
from llm_fleet.spec.network import NetworkSpec
from llm_fleet.storage.buckets import FleetKey
from llm_fleet_stacks.fleet_stack import FleetStack


class NetworkStack(FleetStack):
    """A VPC for a fleet, and the key of its flow logs.

    The key is not that of the storage: who may read flow logs need not be able to read data.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: NetworkConfig,
        endpoint_features: frozenset[EndpointFeature] = frozenset(),
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
        termination_protection: bool = True,
    ) -> None:
        """Make the network that `config` describes, with endpoints for `endpoint_features` (default: none more).

        `env`: default, the one that the CDK CLI is called with. `tags`: default, none.
        `termination_protection`: whether CloudFormation refuses to delete the stack. Default: it refuses.
        """
        super().__init__(
            scope,
            id,
            description="Network of an LLM fleet",
            env=env,
            tags=tags,
            termination_protection=termination_protection,
        )
        self.key = FleetKey(self, "Key", description="Encrypts the flow logs of an LLM fleet")
        """Encrypts the flow logs."""
        self.network = FleetNetwork(
            self,
            "Network",
            config.narrowed(NetworkSpec),
            endpoint_features=endpoint_features,
            encryption_key=self.key,
        )
        """The network, for the stacks that stand in it."""
        cdk.CfnOutput(self, "VpcId", value=self.network.vpc.vpc_id, description="Id of the fleet's VPC")

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        network = self.network
        self.offer(network.vpc.vpc_id, network.security_group.security_group_id, *network.subnet_ids)


def network_for(scope: Construct, network: Network | NetworkConfig | None) -> Network | None:
    """Return `network` for use in `scope`'s stack: as it is if a stack made it, imported if it existed before."""
    if not isinstance(network, NetworkConfig):
        return network
    if network.vpc is None:
        raise TypeError("the description of a new network belongs in a NetworkStack")
    return FleetNetwork.from_attributes(scope, "Network", network.vpc)
