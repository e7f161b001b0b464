"""What all stacks of a fleet have in common."""

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.fleet_file.clusters import Removal
from llm_fleet.fleet_file.fleet import Fleet, NetworkConfig
from llm_fleet.network.fleet_network import FleetNetwork
from llm_fleet.network.network import Network


class FleetStack(cdk.Stack):
    """A stack that is named by its id, and that holds what it takes from other stacks.

    What crosses stacks is an export in use, whatever an app's feature flag
    `@aws-cdk/core:defaultCrossStackReferences` says: CloudFormation then refuses to change or delete a value that
    another stack relies on. A weak reference (`Fn::GetStackOutput`) would be read again only when its own template
    changes, so that a replaced file system, VPC or key would never reach the clusters.
    """

    def __init__(
        self,
        scope: Construct,
        part: str,
        *,
        fleet: Fleet,
        env: cdk.Environment,
        description: str,
        outlives: bool = False,
    ) -> None:
        """Make an empty stack `<fleet>-<part>` with the tags of `fleet`.

        `outlives`: whether clusters and services depend on it; by default, CloudFormation then
        refuses to delete it.
        """
        name = f"{fleet.name}-{part}"
        super().__init__(
            scope,
            name,
            env=env,
            tags=fleet.tags,
            description=f"{description} (llm-fleet)",
            stack_name=name,
            termination_protection=outlives and fleet.termination_protection,
        )
        cdk.CrossStackReferences.of(self).consume(cdk.ReferenceStrength.STRONG)

    def offer_values(self) -> None:
        """Export what other stacks may take; nothing, where a stack does not say otherwise."""

    def offer(self, *values: str | None) -> None:
        """Export `values`, attributes of this stack's own resources, whether another stack uses them now or not.

        The CDK makes an export of a value when a stack refers to it, and leaves it out again with the last reference.
        Stacks are deployed in the order of their dependencies, this one first: CloudFormation would refuse to delete
        the export while the other stack, not yet updated, still imports it. An export that is always there can gain
        and lose importers freely. `None` and values of other stacks are passed over.
        """
        for value in values:
            if value is not None and self._is_own(value):
                self.export_value(value)

    def _is_own(self, value: str) -> bool:
        """Return whether `value` refers to a resource of this stack; text, and what was imported, does not."""
        for token in cdk.Tokenization.reverse_string(value).tokens:
            if not cdk.Reference.is_reference(token):
                return False
            reference: cdk.Reference = token  # pyright: ignore[reportAssignmentType]
            return cdk.Stack.of(reference.target) is self
        return False


def network_for(scope: Construct, network: Network | NetworkConfig | None) -> Network | None:
    """Return `network` for use in `scope`'s stack: as it is if a stack made it, imported if it existed before."""
    if not isinstance(network, NetworkConfig):
        return network
    if network.vpc is None:
        raise TypeError("the description of a new network belongs in a NetworkStack")
    return FleetNetwork.from_attributes(scope, "Network", network.vpc)


REMOVAL = {
    Removal.DESTROY: cdk.RemovalPolicy.DESTROY,
    Removal.RETAIN: cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
}
"""What becomes of a cluster when its stack is deleted, in the CDK's words."""
