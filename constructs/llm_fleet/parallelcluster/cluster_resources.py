"""Everything that stands in the template for one very cluster."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.iam.statements import NamedPolicy
from llm_fleet.parallelcluster.cluster_bundle import PlacedScripts, add_bundle, scripts_bucket
from llm_fleet.parallelcluster.cluster_identity import ClusterIdentity
from llm_fleet.parallelcluster.cluster_plan import ClusterPlan
from llm_fleet.parallelcluster.cluster_wiring import open_ports, wait_for
from llm_fleet.parallelcluster.node_rights import add_node_rights, place_of, policy_name
from llm_fleet.parallelcluster.provider import ClusterProvider
from llm_fleet.parallelcluster.provider_permissions import provider_permissions
from llm_fleet.parallelcluster.render_configuration import render_configuration

_TYPE = "Custom::PclusterCluster"
_RETAINED = (cdk.RemovalPolicy.RETAIN, cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)


class ClusterResources(Construct):
    """The scripts, policies, provider and custom resource of a cluster, below an id with its hash.

    Another hash makes all of it anew beside the old, whose names carry the old hash. Only the bucket of the scripts is
    the same: each cluster has its own part of it.
    """

    def __init__(
        self,
        scope: Construct,
        plan: ClusterPlan,
        identity: ClusterIdentity,
        *,
        read_buckets: Sequence[s3.IBucket],
        write_buckets: Sequence[s3.IBucket],
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Make the resources of the cluster of `plan`."""
        super().__init__(scope, identity.id)
        plan = _with_schema(plan, scope, identity.cluster_name)
        scripts = add_bundle(self, plan, scripts_bucket(scope, plan), cluster_name=identity.cluster_name)
        self.rights = add_node_rights(
            self,
            plan,
            scripts,
            identity.configuration,
            cluster_name=identity.cluster_name,
            read_buckets=read_buckets,
            write_buckets=write_buckets,
        )
        """What its nodes may do."""
        self.configuration: dict[str, Any] = render_configuration(
            plan.shape, scripts.hooks if scripts else None, self.rights.attached(self, plan)
        )
        """ParallelCluster's configuration."""
        policy = self._provider_policy(plan, identity, scripts)
        self.provider = ClusterProvider(self, "Provider", version=plan.shape.version, policy=policy)
        """AWS's provider, for this cluster alone."""
        rules = open_ports(scope, plan)
        # No ServiceTimeout: the provider hands every property but two on as an argument of pcluster's own functions.
        self.resource = cdk.CfnResource(
            self,
            "Resource",
            type=_TYPE,
            properties={
                "ServiceToken": self.provider.service_token,
                "ClusterName": identity.cluster_name,
                "ClusterConfiguration": self.configuration,
            },
        )
        """The custom resource."""
        others: list[Construct] = [*self.rights.all, *rules, *([policy] if policy else [])]
        wait_for(self.resource, plan, [*others, scripts.bundle] if scripts else others)
        self.resource.apply_removal_policy(removal_policy)
        if removal_policy in _RETAINED:
            self._retain(plan, removal_policy)

    def _provider_policy(
        self, plan: ClusterPlan, identity: ClusterIdentity, scripts: PlacedScripts | None
    ) -> NamedPolicy | None:
        accounting = plan.accounting
        permissions = provider_permissions(
            identity.configuration,
            place_of(self),
            bundle=scripts.access if scripts else None,
            boundary="PermissionsBoundary" in identity.configuration.get("Iam", {}),
        )
        statements = accounting.provider_statements() if accounting else []
        if not permissions and not statements:
            return None
        return NamedPolicy(
            self,
            "ProviderPolicy",
            name=policy_name(self, identity.cluster_name, "provider"),
            description="What the provider of a ParallelCluster lacks for this one",
            permissions=permissions,
            statements=statements,
        )

    def _retain(self, plan: ClusterPlan, removal_policy: cdk.RemovalPolicy) -> None:
        """Keep all that the cluster needs to live, the provider too: who else could update or delete it."""
        for construct in self.node.find_all():
            if isinstance(construct, cdk.CfnResource):
                construct.apply_removal_policy(removal_policy)
        plan.network.keep()


def _with_schema(plan: ClusterPlan, scope: Construct, cluster_name: str) -> ClusterPlan:
    """Return `plan` with its accounting's schema named after the cluster, which has its name only now."""
    accounting = plan.accounting
    if accounting is None:
        return plan
    named = accounting.for_cluster(scope, cluster_name=cluster_name)
    return replace(plan, accounting=named, shape=replace(plan.shape, accounting=named))
