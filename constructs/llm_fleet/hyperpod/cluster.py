"""The cluster resource and its CloudFormation properties.

Groups are plain dicts in the L1's own spelling (camel case), not its property classes: a hundred groups are then one
call across jsii, and the L1 still checks every key and type.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct, IConstruct

from llm_fleet.accounting.database_server import schema_of
from llm_fleet.catalog.data_file import load
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.hyperpod.cluster_wiring import PlacedScripts
from llm_fleet.iam.session_document import SessionGrants
from llm_fleet.iam.statements import report_reasons
from llm_fleet.network.security_group import node_connections
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.spec.cluster import NodeMount
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup
from llm_fleet.spec.references import KEY
from llm_fleet.spec.spec import in_request

_ACKNOWLEDGED = cdk.Acknowledgment(
    id="CloudFormation-Validate::E3644",
    reason="llm-fleet checks each type against HyperPod's own service model; the validator's lists by region are "
    "those of other SageMaker resources and lack, among others, ml.p5e.48xlarge and ml.trn2.48xlarge",
)


def render_cluster(
    scope: Construct, plan: ClusterPlan, scripts: PlacedScripts | None, *, role_arn: str
) -> sagemaker.CfnCluster:
    """Create the L1 of `plan` as `Resource` in `scope`."""
    shape = replace(plan.shape, lifecycle_source_s3_uri=scripts.source_s3_uri if scripts else None)
    resource = sagemaker.CfnCluster(
        scope,
        "Resource",
        cluster_name=plan.cluster_name,
        instance_groups=[render_group(group, shape, role_arn=role_arn) for group in shape.groups],
        node_provisioning_mode=shape.spec.node_provisioning_mode,
        node_recovery=shape.spec.node_recovery,
        orchestrator={"slurm": _slurm(scope, plan)} if shape.api_driven else None,
        vpc_config=_vpc(shape),
        tags=[cdk.CfnTag(key=key, value=value) for key, value in shape.spec.tags.items()] or None,
    )
    cdk.Validations.of(resource).acknowledge(_ACKNOWLEDGED)
    return resource


def _vpc(shape: PlacedCluster) -> sagemaker.CfnCluster.VpcConfigProperty | None:
    if not shape.has_vpc:
        return None
    return sagemaker.CfnCluster.VpcConfigProperty(
        subnets=list(shape.subnet_ids), security_group_ids=list(shape.security_group_ids)
    )


def _slurm(scope: Construct, plan: ClusterPlan) -> dict[str, Any]:
    rendered: dict[str, Any] = {}
    if plan.shape.spec.slurm_config_strategy is not None:
        rendered["slurmConfigStrategy"] = plan.shape.spec.slurm_config_strategy.value
    database = plan.spec.accounting_database
    if database is not None:
        rendered["accountingDatabase"] = {**in_request(database), "name": schema_of(scope, database)}
    return rendered


def render_group(group: InstanceGroup, cluster: PlacedCluster, *, role_arn: str) -> dict[str, Any]:
    """Return `group`, whose defaults are filled in, as one of the L1's `instanceGroups`."""
    optional: dict[str, Any] = {
        "slurmConfig": _slurm_of_group(group) if cluster.api_driven else None,
        "lifeCycleConfig": _lifecycle(group, cluster),
        "instanceStorageConfigs": list(_storage(group, cluster)) or None,
        "overrideVpcConfig": _override(group),
    }
    return {
        **in_request(group),
        "executionRole": group.execution_role_arn or role_arn,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _slurm_of_group(group: InstanceGroup) -> dict[str, Any]:
    rendered: dict[str, Any] = {"nodeType": group.node_type.value}
    if group.partition is not None:
        rendered["partitionNames"] = [group.partition]
    return rendered


def _lifecycle(group: InstanceGroup, cluster: PlacedCluster) -> dict[str, Any] | None:
    if group.on_create is not None:
        return {"sourceS3Uri": cluster.lifecycle_source_s3_uri, "onCreate": group.on_create}
    if group.on_init_complete is not None:
        return {"sourceS3Uri": cluster.lifecycle_source_s3_uri, "onInitComplete": group.on_init_complete}
    return None


def _storage(group: InstanceGroup, cluster: PlacedCluster) -> Iterator[dict[str, Any]]:
    """Volumes first, then mounts. With the legacy configuration there are no mounts: its own file lists them."""
    if group.root_volume_key is not None:
        yield {"ebsVolumeConfig": {"rootVolume": True, "volumeKmsKeyId": KEY.name_of(group.root_volume_key)}}
    if group.ebs_volume_gib is not None:
        volume: dict[str, Any] = {"volumeSizeInGb": group.ebs_volume_gib}
        if group.ebs_volume_key is not None:
            volume["volumeKmsKeyId"] = KEY.name_of(group.ebs_volume_key)
        yield {"ebsVolumeConfig": volume}
    if cluster.api_driven:
        yield from (_mount(mount) for mount in cluster.mounts if group.mounts(mount.kind))


def _mount(mount: NodeMount) -> dict[str, Any]:
    config = {"dnsName": mount.dns_name, "mountPath": mount.mount_path}
    if mount.kind == "open_zfs":
        return {"fsxOpenZfsConfig": config}
    return {"fsxLustreConfig": {**config, "mountName": mount.mount_name}}


def _override(group: InstanceGroup) -> dict[str, Any] | None:
    if not group.subnets:
        return None
    return {
        "subnets": list(group.subnet_ids),
        "securityGroupIds": list(group.security_group_ids),
    }


_DESCRIBE = (
    "sagemaker:DescribeCluster",
    "sagemaker:DescribeClusterEvent",
    "sagemaker:DescribeClusterNode",
    "sagemaker:DescribeClusterOperation",
    "sagemaker:ListClusterEvents",
    "sagemaker:ListClusterNodes",
    "sagemaker:ListClusterOperations",
)
_MANAGE_NODES = (
    "sagemaker:BatchAddClusterNodes",
    "sagemaker:BatchDeleteClusterNodes",
    "sagemaker:BatchRebootClusterNodes",
    "sagemaker:BatchReplaceClusterNodes",
    "sagemaker:StartClusterHealthCheck",
    "sagemaker:UpdateClusterSoftware",
)


class ClusterGrants(SessionGrants):
    """IAM permissions on a cluster. Each method returns a `Grant`; `success` can be false for an imported role."""

    def __init__(self, scope: IConstruct, cluster: "Cluster", *, users: Sequence[str] | None = None) -> None:
        """Grant on `cluster`, in the stack of `scope`. `users`: of its nodes; default, unknown."""
        super().__init__(scope, users)
        self._cluster = cluster

    def _start_sessions(self, grantee: iam.IGrantable, documents: Sequence[str]) -> iam.Grant:
        start = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:StartSession"],
            resource_arns=[self._cluster.cluster_arn, self._nodes_arn(), *documents],
            # Without it Session Manager does not check whether the caller may use the default document.
            conditions={"BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}},
        )
        report_reasons(
            grantee, {self._nodes_arn(): "only nodes of this cluster, whose ids do not exist before deployment"}
        )
        return start

    def submit_jobs(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` run commands on every node by Session Manager, which `llm-fleet jobs submit` and `logs` do.

        It can find the nodes, too. A session's commands run as root: a principal with this grant has all permissions
        of a node.
        """
        return self.ssm_session(grantee, documents=[self._command_arn()]).combine(
            self._on_cluster(grantee, ("sagemaker:DescribeCluster", "sagemaker:ListClusterNodes"))
        )

    def describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the cluster, its nodes, events and operations."""
        return self._on_cluster(grantee, _DESCRIBE)

    def manage_nodes(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the cluster, and add, remove, reboot, replace, test and update its nodes.

        It cannot change the cluster's groups or roles: `UpdateCluster` is not included.
        """
        return self._on_cluster(grantee, (*_DESCRIBE, *_MANAGE_NODES))

    def _on_cluster(self, grantee: iam.IGrantable, actions: Sequence[str]) -> iam.Grant:
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=list(actions), resource_arns=[self._cluster.cluster_arn]
        )

    def _nodes_arn(self) -> str:
        """The nodes as Session Manager's managed instances, whose ids are `sagemaker-cluster:<id>_<group>-<instance>`.

        AWS's own page on HyperPod names this resource for `ssm:StartSession`, and no document names the cluster's ARN,
        so both are granted. assumption: hyperpod-start-session-resource
        """
        return self._arn("ssm", "managed-instance", f"sagemaker-cluster:{self._cluster.cluster_id}_*")


def cluster_arn_problems(arn: str) -> list[Problem]:
    """Return the problems of `arn` as a cluster's ARN; none for a CDK token."""
    if is_unresolved(arn) or re.fullmatch(load("cluster_arn")["pattern"], arn):
        return []
    return [
        Problem(
            code=Code.CLUSTER_ARN,
            message="this is not the ARN of a HyperPod cluster",
            path=("cluster_arn",),
            value=arn,
            allowed="arn:aws:sagemaker:<region>:<account>:cluster/<id of 12 lowercase letters and digits>",
            remedy="copy ClusterArn from `aws sagemaker describe-cluster --cluster-name …`",
        )
    ]


_REMEDY = "pass `network` to HyperPodCluster, or `security_groups` to from_cluster_attributes"


@jsii.implements(ec2.IConnectable)
class Cluster(Construct):
    """A HyperPod cluster, of this app or imported. Subclasses set `cluster_arn` and `_security_groups`."""

    cluster_arn: str
    """Its ARN; ends with the cluster id."""
    _security_groups: Sequence[ec2.ISecurityGroup] = ()
    _users: Sequence[str] | None = None
    """Login names that exist on its nodes; `None` if unknown."""
    _connections: ec2.Connections | None = None

    @property
    def cluster_id(self) -> str:
        """Twelve letters and digits, part of every SSM target and log group; a token for a new cluster."""
        return cdk.Fn.select(1, cdk.Fn.split("/", self.cluster_arn))

    @property
    def grants(self) -> ClusterGrants:
        """IAM permissions on it."""
        return ClusterGrants(self, self, users=self._users)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Its nodes' security groups, to open ports from and to them.

        Raises `FleetError` (LF572) for a cluster without a network, or one whose security groups are unknown.
        """
        if self._connections is None:
            self._connections = node_connections(self._security_groups, subject=self.node.path, remedy=_REMEDY)
        return self._connections

    def ssm_target(self, group: str, instance_id: str = "<instance-id>") -> str:
        """Return the `--target` of `aws ssm start-session` for a node of `group`.

        `aws sagemaker list-cluster-nodes` lists the instance ids.
        """
        return f"sagemaker-cluster:{self.cluster_id}_{group}-{instance_id}"


class ImportedCluster(Cluster):
    """A HyperPod cluster that exists already. Made by `HyperPodCluster.from_…`; creates nothing."""

    def __init__(
        self, scope: Construct, id: str, *, cluster_arn: str, security_groups: Sequence[ec2.ISecurityGroup] = ()
    ) -> None:
        """Import the cluster by its ARN, and its nodes' security groups if given."""
        super().__init__(scope, id)
        self.cluster_arn = cluster_arn
        self._security_groups = tuple(security_groups)
