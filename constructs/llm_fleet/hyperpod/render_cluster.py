"""The cluster as the L1 `AWS::SageMaker::Cluster`."""

from dataclasses import replace
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.accounting.accounting_database import AccountingDatabase
from llm_fleet.accounting.database_server import schema_of
from llm_fleet.hyperpod.cluster_bundle import PlacedScripts
from llm_fleet.hyperpod.cluster_plan import ClusterPlan
from llm_fleet.hyperpod.render_group import render_group
from llm_fleet.spec.hyperpod_cluster import PlacedCluster

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
        tags=[cdk.CfnTag(key=key, value=value) for key, value in shape.tags.items()] or None,
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
    if plan.accounting_database is not None:
        rendered["accountingDatabase"] = _accounting(scope, plan.accounting_database)
    return rendered


def _accounting(scope: Construct, database: AccountingDatabase) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "endpoint": database.endpoint,
        "secretArn": database.secret_arn,
        "name": schema_of(scope, database),
    }
    if database.port is not None:
        rendered["port"] = database.port
    return rendered
