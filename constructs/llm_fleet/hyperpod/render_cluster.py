"""The cluster as the L1 `AWS::SageMaker::Cluster`.

Groups are plain dicts in the L1's own spelling (camel case), not its property classes: a hundred groups are then one
call across jsii, and the L1 still checks every key and type.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.accounting.database_server import schema_of
from llm_fleet.hyperpod.cluster_bundle import PlacedScripts
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
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
    """Make the L1 of `plan` as the `Resource` of `scope`."""
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
    """Volumes first, then mounts. With the legacy configuration HyperPod takes none: its file names them."""
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
