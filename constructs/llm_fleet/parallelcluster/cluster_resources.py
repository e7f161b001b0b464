"""The resources of a cluster, its name, and its dependencies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from constructs import Construct, IDependable, IValidation

from llm_fleet.accounting.accounting import open_accounting_ports, provider_statements, with_schema
from llm_fleet.iam.statements import NamedPolicy, Place
from llm_fleet.parallelcluster.cluster_bundle import (
    PlacedScripts,
    add_bundle,
    add_node_policies,
    policy_name,
    scripts_bucket,
)
from llm_fleet.parallelcluster.cluster_plan import ClusterPlan
from llm_fleet.parallelcluster.provider import ClusterProvider, provider_permissions
from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.cluster_names import identity_hash
from llm_fleet.rules.parallelcluster.update_check import DeployedLike, check_update
from llm_fleet.rules.parallelcluster.update_plan import new_cluster_text, plan_text, plan_update
from llm_fleet.rules.problem import Problem, is_unresolved, raise_problems
from llm_fleet.spec.parallelcluster import ParallelClusterSpec
from llm_fleet.spec.references import BUCKET, SECURITY_GROUP
from llm_fleet.storage.file_systems import next_to_primary


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterIdentity:
    """The hash of the settings that no update can change, and the name with this hash."""

    digits: str
    """Eight hexadecimal digits."""
    cluster_name: str
    """ParallelCluster's name of the cluster: the user's with the digits."""
    configuration: dict[str, Any]
    """The input of the hash: the configuration without scripts and policies, which contain the name."""

    @property
    def id(self) -> str:
        """The construct id of the parent of all constructs of this cluster.

        Another hash gives another id, and so another logical id: CloudFormation creates the new cluster with all its
        resources, and then deletes the old one with all of its resources.
        """
        return f"Cluster{self.digits}"

    @classmethod
    def of(cls, scope: Construct, plan: ClusterPlan) -> "ClusterIdentity":
        """Return the identity of the cluster of `plan` at `scope`."""
        configuration = render_configuration(plan.shape)
        resolve = cdk.Stack.of(scope).resolve
        digits = identity_hash(resolve(configuration), plan.shape.version, scripts=resolve(_place_of_scripts(plan)))
        return cls(digits=digits, cluster_name=f"{plan.shape.cluster_name}-{digits}", configuration=configuration)


def _place_of_scripts(plan: ClusterPlan) -> dict[str, str] | None:
    """Return the prefix of the scripts' S3 keys, before the cluster's own name."""
    if plan.shape.scripts is None:
        return None
    bucket = plan.shape.scripts.bucket
    return {"Bucket": "made with the cluster" if bucket is None else BUCKET.name_of(bucket), "Fleet": plan.fleet_name}


def security_groups_of(scope: Construct, plan: ClusterPlan) -> tuple[ec2.ISecurityGroup, ...]:
    """Return the security groups of nodes that llm-fleet sets, each once; first the network's, in which all nodes are.

    One that is named by its id is imported below `scope`.
    """
    by_id: dict[str, Any] = {}
    for part in (plan.shape.head_node, *plan.shape.queues, *plan.shape.login_pools):
        for group in part.security_groups:
            by_id.setdefault(SECURITY_GROUP.name_of(group), group)
    return tuple(
        ec2.SecurityGroup.from_security_group_id(scope, f"SecurityGroup-{id}", id) if isinstance(group, str) else group
        for id, group in by_id.items()
    )


def open_ports(scope: Construct, plan: ClusterPlan) -> list[Construct]:
    """Let the nodes of the cluster at `scope` reach their file systems, and the head node its accounting.

    Return the rules that the nodes need as soon as they boot. ParallelCluster's own security groups allow traffic
    between the nodes, including EFA; file systems and databases allow the network's group, which all nodes share.
    """
    group = plan.network.security_group
    for file_system in plan.mounts.file_systems:
        file_system.allow_mount_from(group)
    return open_accounting_ports(plan.shape.accounting, scope, [group]) if plan.shape.accounting else []


def wait_for(resource: cdk.CfnResource, plan: ClusterPlan, others: Sequence[IDependable]) -> None:
    """Make the cluster depend on everything that its nodes need, so that it is deleted first.

    CloudFormation derives dependencies from references in the configuration; the others are added here, because if a
    network or a rule is deleted first, nodes cannot terminate and network interfaces cannot be deleted.
    """
    resource.node.add_dependency(*_unnamed(plan), *others)


def _unnamed(plan: ClusterPlan) -> Iterator[IDependable]:
    yield plan.network.connectivity
    yield plan.network.security_group_rules
    if plan.shape.accounting is not None:
        yield from plan.shape.accounting.servers
    for file_system in plan.mounts.file_systems:
        yield from next_to_primary(file_system)


_TYPE = "Custom::PclusterCluster"
_RETAINED = (cdk.RemovalPolicy.RETAIN, cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)


class ClusterResources(Construct):
    """The scripts, policies, provider and custom resource of a cluster, below an id with its hash.

    Another hash creates all of them again, next to the old ones, whose names have the old hash. Only the bucket of the
    scripts is the same: each cluster has its own prefix in it.
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
        self.rights = add_node_policies(
            self,
            plan,
            scripts,
            identity.configuration,
            cluster_name=identity.cluster_name,
            read_buckets=read_buckets,
            write_buckets=write_buckets,
        )
        """IAM policies of its nodes."""
        self.configuration: dict[str, Any] = render_configuration(
            plan.shape, scripts.hooks if scripts else None, self.rights.attached(self, plan)
        )
        """ParallelCluster's configuration."""
        policy = self._provider_policy(plan, identity, scripts)
        self.provider = ClusterProvider(self, "Provider", version=plan.shape.version, policy=policy)
        """AWS's provider, for this cluster only."""
        rules = open_ports(scope, plan)
        # No ServiceTimeout: the provider passes every property except two as an argument to pcluster's own functions.
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
        accounting = plan.shape.accounting
        permissions = provider_permissions(
            identity.configuration,
            Place.of(self),
            bundle=scripts.access if scripts else None,
            boundary="PermissionsBoundary" in identity.configuration.get("Iam", {}),
        )
        statements = provider_statements(accounting) if accounting else []
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
        """Retain everything that the cluster needs, including the provider, which updates and deletes it."""
        for construct in self.node.find_all():
            if isinstance(construct, cdk.CfnResource):
                construct.apply_removal_policy(removal_policy)
        plan.network.keep()


def _with_schema(plan: ClusterPlan, scope: Construct, cluster_name: str) -> ClusterPlan:
    """Return `plan` with the accounting schema named after the cluster, whose name is only known at this point."""
    accounting = plan.shape.accounting
    if accounting is None:
        return plan
    named = with_schema(accounting, scope, cluster_name=cluster_name)
    return replace(plan, shape=plan.shape.model_copy(update={"accounting": named}))


_PREFIX = "LlmFleetParallelCluster"


def claim_name(scope: Construct, name: str) -> None:
    """Reserve `name` for the cluster at `scope`; raise `FleetError` (LF610) when another one of the app has it.

    A name is unique in an account and region. The second deployment fails, and during the rollback the provider
    deletes the cluster of that name, which is the first one. A name that is a CDK token is not checked.
    """
    if is_unresolved(name):
        return
    marker = f"{_PREFIX} {name} {_where(scope)}"
    root = cast(Construct, scope.node.root)
    first = root.node.try_find_child(marker)
    if first is not None:
        raise_problems([_taken(name, str(first.node.try_get_context(_PREFIX)))], subject=scope.node.path)
    claim = Construct(root, marker)
    claim.node.set_context(_PREFIX, scope.node.path)


def _where(scope: Construct) -> str:
    """Return account and region; if unknown, the stack's address."""
    stack = cdk.Stack.of(scope)
    known = not is_unresolved((stack.account, stack.region))
    return f"{stack.account} {stack.region}" if known else stack.node.addr


def _taken(name: str, path: str) -> Problem:
    return Problem(
        code=Code.PC_CLUSTER_NAME,
        message=f"the cluster at {path} in the same account and region also has the name {name}",
        remedy="set another `cluster_name` for one of them",
        path=("cluster_name",),
        value=name,
    )


@jsii.implements(IValidation)
class UpdateCheck:
    """Compares a cluster with the one deployed last when the app is validated.

    Not earlier: only then does a reference to another stack have the same form as in the deployed template.
    """

    def __init__(
        self,
        cluster: Construct,
        configuration: Mapping[str, Any],
        deployed: DeployedLike,
        *,
        cluster_name: str,
        spec: ParallelClusterSpec,
    ) -> None:
        """Compare `configuration`, as the template of `cluster` has it, with `deployed`."""
        self._cluster = cluster
        self._configuration = configuration
        self._deployed = deployed
        self._cluster_name = cluster_name
        self._spec = spec

    def attach(self) -> None:
        """Add it to the app's validation."""
        self._cluster.node.add_validation(cast(IValidation, self))

    def validate(self) -> list[str]:
        """Add the whole plan as an annotation, and return what would be rejected, both as text for the CDK."""
        stack = cdk.Stack.of(self._cluster)
        configuration = stack.resolve(self._configuration)
        name = str(stack.resolve(self._cluster_name))
        cdk.Annotations.of(self._cluster).add_info(self._plan(configuration, name))
        problems = check_update(
            configuration,
            self._deployed,
            cluster_name=name,
            version=self._spec.version,
            immutable_changes=self._spec.immutable_changes,
            fleet_is_stopped=self._spec.fleet_is_stopped,
        )
        return [str(problem) for problem in problems]

    def _plan(self, configuration: Mapping[str, Any], name: str) -> str:
        known = self._deployed.cluster_name
        is_new = known not in (None, name)
        what = f"a new cluster {name} in addition to {known}" if is_new else f"an update of {name}"
        plan = plan_update(
            self._deployed.configuration,
            configuration,
            version_old=self._deployed.version,
            version_new=self._spec.version,
            fleet_is_stopped=self._spec.fleet_is_stopped,
        )
        text = new_cluster_text(plan, known, name) if is_new else plan_text(plan)
        return f"{what}; `llm-fleet parallelcluster update-plan` shows changes of published scripts\n{text}"
