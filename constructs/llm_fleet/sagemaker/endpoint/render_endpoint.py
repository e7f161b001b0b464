"""The three resources of SageMaker: model, configuration, endpoint."""

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.endpoint import endpoint_settings
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointModelSource
from llm_fleet.sagemaker.endpoint.endpoint_plan import EndpointPlan

_ROUTING = "LEAST_OUTSTANDING_REQUESTS"
"""To the instance with the fewest requests: answers of a language model take very different times."""
_Vpc = sagemaker.CfnModel.VpcConfigProperty


def render_model(scope: Construct, plan: EndpointPlan, *, role_arn: str, vpc: _Vpc | None) -> sagemaker.CfnModel:
    """Make the model, under a name of CloudFormation's: each change makes another one, which an update rolls out."""
    stack = cdk.Stack.of(scope)
    model = plan.model
    in_s3 = model.source is EndpointModelSource.S3
    container = sagemaker.CfnModel.ContainerDefinitionProperty(
        image=plan.image_uri(url_suffix=stack.url_suffix),
        environment=dict(plan.variables),
        model_data_url=model.location if model.source is EndpointModelSource.TARBALL else None,
        model_data_source=_files(model.location) if in_s3 else None,
    )
    return sagemaker.CfnModel(
        scope,
        "Model",
        execution_role_arn=role_arn,
        primary_container=container,
        enable_network_isolation=plan.network_isolation,
        vpc_config=vpc,
    )


def render_config(
    scope: Construct,
    plan: EndpointPlan,
    *,
    model_name: str,
    instance_count: int,
    volume_key_arn: str | None,
    capture: sagemaker.CfnEndpointConfig.DataCaptureConfigProperty | None,
) -> sagemaker.CfnEndpointConfig:
    """Make the configuration; it too is another one after each change."""
    variant = sagemaker.CfnEndpointConfig.ProductionVariantProperty(
        variant_name=endpoint_settings().variant,
        model_name=model_name,
        instance_type=plan.instance_type,
        initial_instance_count=instance_count,
        initial_variant_weight=1,
        inference_ami_version=plan.ami,
        volume_size_in_gb=plan.volume,
        model_data_download_timeout_in_seconds=plan.download_seconds,
        container_startup_health_check_timeout_in_seconds=plan.startup_seconds,
        routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(routing_strategy=_ROUTING),
    )
    config = sagemaker.CfnEndpointConfig(
        scope, "Config", production_variants=[variant], kms_key_id=volume_key_arn, data_capture_config=capture
    )
    if volume_key_arn is None:
        acknowledge(config, _why_no_key(plan), "NIST.800.53.R5-SageMakerEndpointConfigurationKMSKeyConfigured")
    return config


def render_endpoint(
    scope: Construct,
    plan: EndpointPlan,
    *,
    config_name: str,
    rollout: sagemaker.CfnEndpoint.DeploymentConfigProperty | None,
    update: Mapping[str, Any],
) -> sagemaker.CfnEndpoint:
    """Make the endpoint, under the name that callers know."""
    return sagemaker.CfnEndpoint(
        scope,
        "Endpoint",
        endpoint_name=plan.name,
        endpoint_config_name=config_name,
        deployment_config=rollout,
        **update,
    )


def vpc_config(subnet_ids: Sequence[str], security_group_id: str) -> _Vpc:
    """Return where the instances have their interfaces."""
    return _Vpc(subnets=[*subnet_ids], security_group_ids=[security_group_id])


def _files(location: str) -> sagemaker.CfnModel.ModelDataSourceProperty:
    source = sagemaker.CfnModel.S3DataSourceProperty(
        s3_uri=f"{location.rstrip('/')}/",  # a prefix ends with a slash (S3ModelDataSource)
        s3_data_type="S3Prefix",
        compression_type="None",
    )
    return sagemaker.CfnModel.ModelDataSourceProperty(s3_data_source=source)


def _why_no_key(plan: EndpointPlan) -> str:
    if plan.instance.local_disk_gb:
        return (
            "The instances have no EBS volume: image and model are on local NVMe disks, which the hardware encrypts; a "
            "key here would not encrypt them (CreateEndpointConfig, KmsKeyId)"
        )
    return (
        "SageMaker encrypts the volume with a key of its own; image and model are all that is on it, and both lie "
        "elsewhere as well; `encryption_key` takes another"
    )
