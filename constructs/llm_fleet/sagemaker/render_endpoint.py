"""Values derived from an endpoint's specification, and its model, configuration and endpoint in CloudFormation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.endpoint import EndpointInstance, endpoint_instance, endpoint_settings, image_account_of
from llm_fleet.network.network import Network
from llm_fleet.rules.addresses import AddressClaim
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.sagemaker.endpoint import download_seconds, startup_seconds, variables, volume_gib
from llm_fleet.rules.sagemaker.endpoint_image import ami_for, image_facts, image_kind
from llm_fleet.rules.sagemaker.endpoint_operations import bake_seconds_of, step_percent_of, termination_wait_seconds_of
from llm_fleet.spec.endpoint import EndpointImageKind, EndpointModelSource, EndpointSpec
from llm_fleet.spec.endpoint_operations import EndpointRollout, RolloutKind


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPlan:
    """Values derived from the specification of an endpoint in a region."""

    spec: EndpointSpec
    """The checked specification, with a name."""
    region: str | None

    @property
    def name(self) -> str:
        """The endpoint name that callers use."""
        assert self.spec.name is not None
        return self.spec.name

    def claims(self, network: Network) -> list[AddressClaim]:
        """Return the addresses of its instances in each compute subnet: twice as many during an update."""
        zones, most = network.availability_zone_ids, self.spec.greatest_instance_count
        if is_unresolved(most) or not zones:
            return []
        return [
            AddressClaim(
                owner=self.name,
                what=self.spec.instance_type,
                count=2 * -(-most // len(zones)),
                addresses_each=1,
                availability_zone_id=zone,
            )
            for zone in zones
        ]

    @property
    def instance(self) -> EndpointInstance:
        """The facts of its instance type; the rules have checked that it exists."""
        facts = endpoint_instance(self.spec.instance_type)
        assert facts is not None
        return facts

    @property
    def kind(self) -> EndpointImageKind | None:
        """The kind of image; `None` for a user's own image."""
        return image_kind(self.spec.image, self.instance)

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables of the container."""
        return {**variables(self.spec, self.instance), **self.spec.environment}

    @property
    def ami(self) -> str | None:
        """The inference AMI version; `None` for SageMaker's default."""
        chosen = ami_for(self.spec.image, self.instance)
        return self.spec.inference_ami or (chosen.name if chosen else None)

    @property
    def startup_seconds(self) -> int:
        """Timeout of the container startup health check."""
        return startup_seconds(self.spec, self.instance)

    @property
    def download_seconds(self) -> int | None:
        """Timeout of the model download; `None` where SageMaker downloads none."""
        return download_seconds(self.spec, self.instance)

    @property
    def volume(self) -> int | None:
        """GiB of an instance's EBS volume; `None` where it has local disks."""
        return volume_gib(self.spec, self.instance)

    @property
    def bucket_and_path(self) -> tuple[str, str] | None:
        """Bucket and path of the model in S3; `None` for a model on the Hub."""
        return (
            None if self.spec.model.source is EndpointModelSource.HUB else bucket_and_prefix(self.spec.model.location)
        )

    def image_uri(self, *, url_suffix: str) -> str:
        """Return the image URI; `url_suffix` is that of the partition."""
        facts = image_facts(self.spec.image, self.instance)
        if facts is None:
            assert self.spec.image.uri is not None
            return self.spec.image.uri
        assert self.region is not None
        return f"{image_account_of(self.region)}.dkr.ecr.{self.region}.{url_suffix}/{facts.repository}:{facts.tag}"

    def repository_arn(self, *, partition: str) -> str:
        """Return the ARN of the image's ECR repository."""
        if self.spec.image.repository_arn is not None:
            return self.spec.image.repository_arn
        registry, _, path = self.image_uri(url_suffix="").partition("/")
        account, region = registry.split(".")[0], registry.split(".")[3]
        return f"arn:{partition}:ecr:{region}:{account}:repository/{path.partition('@')[0].partition(':')[0]}"

    def repository_is_known(self) -> list[Problem]:
        """Return a problem unless the image's repository is known at synth."""
        if (
            self.spec.image.uri is None
            or self.spec.image.repository_arn is not None
            or not is_unresolved(self.spec.image.uri)
        ):
            return []
        return [
            Problem(
                code=SageMakerCode.ENDPOINT_IMAGE,
                path=("image", "uri"),
                message="the image URI is a CDK token, so the repository for the role's permissions is unknown",
                remedy="write EndpointImage.from_ecr(repository, tag)",
            )
        ]


_ROUTING = "LEAST_OUTSTANDING_REQUESTS"
"""Route to the instance with the fewest requests: response times of a language model vary widely."""
_Vpc = sagemaker.CfnModel.VpcConfigProperty


def render_model(scope: Construct, plan: EndpointPlan, *, role_arn: str, vpc: _Vpc | None) -> sagemaker.CfnModel:
    """Create the model with a generated name: each change replaces it, and an update rolls it out."""
    stack = cdk.Stack.of(scope)
    model = plan.spec.model
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
        enable_network_isolation=plan.spec.network_isolation,
        vpc_config=vpc,
    )


def render_config(
    scope: Construct,
    plan: EndpointPlan,
    *,
    model_name: str,
    volume_key_arn: str | None,
    capture: sagemaker.CfnEndpointConfig.DataCaptureConfigProperty | None,
) -> sagemaker.CfnEndpointConfig:
    """Create the configuration; each change replaces it."""
    variant = sagemaker.CfnEndpointConfig.ProductionVariantProperty(
        variant_name=endpoint_settings().variant,
        model_name=model_name,
        instance_type=plan.spec.instance_type,
        initial_instance_count=plan.spec.first_instance_count,
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
    """Create the endpoint with the name that callers use."""
    return sagemaker.CfnEndpoint(
        scope,
        "Endpoint",
        endpoint_name=plan.name,
        endpoint_config_name=config_name,
        deployment_config=rollout,
        **update,
    )


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
            "The instances have no EBS volume: image and model are on local NVMe disks with hardware encryption; a "
            "key here would not encrypt them (CreateEndpointConfig, KmsKeyId)"
        )
    return (
        "SageMaker encrypts the volume with its own key; the volume has only image and model, which are also stored "
        "elsewhere; set `encryption_key` to use another key"
    )


_Endpoint = sagemaker.CfnEndpoint


def render_rollout(rollout: EndpointRollout, alarm_names: Sequence[str]) -> _Endpoint.DeploymentConfigProperty:
    """Return the deployment configuration; `alarm_names`: own alarms for rollbacks, in addition to `rollout`'s."""
    alarms = [_Endpoint.AlarmProperty(alarm_name=name) for name in [*alarm_names, *rollout.alarm_names]]
    rolling = rollout.kind is RolloutKind.ROLLING
    return _Endpoint.DeploymentConfigProperty(
        auto_rollback_configuration=_Endpoint.AutoRollbackConfigProperty(alarms=alarms),
        rolling_update_policy=_rolling(rollout) if rolling else None,
        blue_green_update_policy=None if rolling else _blue_green(rollout),
    )


def _rolling(rollout: EndpointRollout) -> _Endpoint.RollingUpdatePolicyProperty:
    return _Endpoint.RollingUpdatePolicyProperty(
        maximum_batch_size=_step(rollout),
        wait_interval_in_seconds=bake_seconds_of(rollout),
        maximum_execution_timeout_in_seconds=rollout.timeout_seconds,
    )


def _blue_green(rollout: EndpointRollout) -> _Endpoint.BlueGreenUpdatePolicyProperty:
    return _Endpoint.BlueGreenUpdatePolicyProperty(
        traffic_routing_configuration=_Endpoint.TrafficRoutingConfigProperty(
            type=rollout.kind.name,
            wait_interval_in_seconds=bake_seconds_of(rollout),
            canary_size=_step(rollout) if rollout.kind is RolloutKind.CANARY else None,
            linear_step_size=_step(rollout) if rollout.kind is RolloutKind.LINEAR else None,
        ),
        termination_wait_in_seconds=termination_wait_seconds_of(rollout),
        maximum_execution_timeout_in_seconds=rollout.timeout_seconds,
    )


def _step(rollout: EndpointRollout) -> _Endpoint.CapacitySizeProperty:
    return _Endpoint.CapacitySizeProperty(type="CAPACITY_PERCENT", value=step_percent_of(rollout) or 0)
