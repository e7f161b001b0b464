"""A model of Hugging Face behind an endpoint of SageMaker."""

from collections.abc import Mapping
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.catalog.endpoint import endpoint_settings
from llm_fleet.iam.permission import Permission, Place
from llm_fleet.network.network import Network
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.endpoint_check import warning_of
from llm_fleet.rules.sagemaker.endpoint_operations import check_operations
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.sagemaker.endpoint.data_capture import DataCapture
from llm_fleet.sagemaker.endpoint.endpoint_afterwards import EndpointAfterwards
from llm_fleet.sagemaker.endpoint.endpoint_alarm_thresholds import EndpointAlarmThresholds
from llm_fleet.sagemaker.endpoint.endpoint_base import EndpointBase
from llm_fleet.sagemaker.endpoint.endpoint_budget import EndpointBudget
from llm_fleet.sagemaker.endpoint.endpoint_capture import EndpointCapture
from llm_fleet.sagemaker.endpoint.endpoint_forms import check_arguments
from llm_fleet.sagemaker.endpoint.endpoint_image import EndpointImage
from llm_fleet.sagemaker.endpoint.endpoint_log import EndpointLog
from llm_fleet.sagemaker.endpoint.endpoint_model import EndpointModel
from llm_fleet.sagemaker.endpoint.endpoint_permissions import endpoint_permissions
from llm_fleet.sagemaker.endpoint.endpoint_plan import EndpointPlan
from llm_fleet.sagemaker.endpoint.endpoint_role import EndpointRole
from llm_fleet.sagemaker.endpoint.endpoint_rollout import EndpointRollout
from llm_fleet.sagemaker.endpoint.endpoint_scaling import EndpointScaling
from llm_fleet.sagemaker.endpoint.endpoint_security_group import EndpointSecurityGroup
from llm_fleet.sagemaker.endpoint.endpoint_sight import EndpointSight
from llm_fleet.sagemaker.endpoint.endpoint_time_to_live import EndpointTimeToLive
from llm_fleet.sagemaker.endpoint.neuron_settings import NeuronSettings
from llm_fleet.sagemaker.endpoint.operation_forms import check_operation_forms
from llm_fleet.sagemaker.endpoint.operations import EndpointOperations
from llm_fleet.sagemaker.endpoint.render_endpoint import render_config, render_endpoint, render_model, vpc_config

_DESCRIPTION = "Execution role of a SageMaker endpoint: its image, its model, its log"


class HuggingFaceEndpoint(EndpointBase):
    """A model of Hugging Face on GPUs, Inferentia, Trainium or processors, asked by `InvokeEndpoint`.

    What would fail only once it is deployed is checked when the construct is made, and told at once in one
    `FleetError`, before any resource is in the template: a model that does not fit, an image that does not run on the
    instance, a host driver that is too old for the image. It is an `ec2.IConnectable` (its instances).

    The endpoint keeps its name; model and configuration are made anew when something of them changes, and an update
    brings them up on fresh instances before the old ones go.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        model: EndpointModel,
        instance_type: str,
        instance_count: int = 1,
        image: EndpointImage = EndpointImage(),  # noqa: B008 - immutable
        neuron: NeuronSettings | None = None,
        environment: Mapping[str, str] | None = None,
        inference_ami: str | None = None,
        volume_gib: int | None = None,
        download_timeout_seconds: int | None = None,
        startup_timeout_seconds: int | None = None,
        network: Network | None = None,
        network_isolation: bool = False,
        endpoint_name: str | None = None,
        encryption_key: kms.IKey | None = None,
        log_retention_days: int = 30,
        data_capture: DataCapture | None = None,
        scaling: EndpointScaling | None = None,
        rollout: EndpointRollout = EndpointRollout(),  # noqa: B008 - immutable
        time_to_live: EndpointTimeToLive | None = None,
        budget: EndpointBudget | None = None,
        alarm_topic: sns.ITopic | sns.Topic | None = None,
        alarm_thresholds: EndpointAlarmThresholds = EndpointAlarmThresholds(),  # noqa: B008 - immutable
    ) -> None:
        """Make the endpoint; raise `FleetError` with all that is wrong with it (LF900 to LF903, LF930 to LF959).

        `model`: what is served, from the Hub, from files or from an archive in S3.

        `instance_type`: on what, e.g. `ml.g4dn.xlarge`; each instance holds the whole model. `instance_count`: on how
        many at the start. Default: 1.

        `image`: what serves it. Default: vLLM on GPUs and Neuron, transformers' pipelines on processors.
        `neuron`: what a model on Neuron is compiled for. Default: what it was exported for, or what the image takes.
        `environment`: further variables of the container, e.g. `SM_VLLM_MAX_MODEL_LEN`; no secret. Default: none.

        `inference_ami`: what the instances boot from. Default: the oldest driver that knows the image's CUDA, by the
        catalog; SageMaker's own choice on Neuron and on processors.

        `volume_gib`: of the EBS volume of an instance that has no disks of its own. Default: by the model's size.
        `download_timeout_seconds`: for fetching a model from S3. `startup_timeout_seconds`: until the first healthy
        answer. Default of both: by the model's size, by the catalog's estimates.

        `network`: where the instances have an interface, in its compute subnets. Default: none, they stand in
        SageMaker's own network. `network_isolation`: whether the container has no network at all, not even to S3:
        SageMaker fetches the model for it. Default: no.

        `endpoint_name`: what callers name. Default: one made of the construct's path, which stays the same.

        `encryption_key`: of the log, of an EBS volume, and of what goes on around the endpoint; its policy must let
        CloudWatch Logs use it, as that of `FleetKey` does. Default: keys of AWS's own.

        `log_retention_days`: default 30.

        `data_capture`, `scaling`, `rollout`, `time_to_live`, `budget`: see those classes. Default: nothing is kept, as
        many instances always, all at once with a roll-back when an alarm rings, no end, no budget.

        `alarm_topic`: who is told when an alarm goes off. Default: nobody, the alarms are only shown.
        `alarm_thresholds`: when they go off. Default: those of `EndpointAlarmThresholds`.
        """
        super().__init__(scope, id)
        operations = EndpointOperations(
            data_capture=data_capture,
            scaling=scaling,
            rollout=rollout,
            time_to_live=time_to_live,
            budget=budget,
            alarm_topic=cast(sns.ITopic | None, alarm_topic),
            alarm_thresholds=alarm_thresholds,
            encryption_key=encryption_key,
        )
        of_arguments = check_arguments(
            model=model,
            image=image,
            neuron=neuron,
            environment=environment,
            network=network,
            instance_type=instance_type,
            inference_ami=inference_ami,
            endpoint_name=endpoint_name,
            log_retention_days=log_retention_days,
            encryption_key=encryption_key,
            network_isolation=network_isolation,
        )
        raise_problems([*of_arguments, *check_operation_forms(operations)], subject=self.node.path)
        plan = self._plan = EndpointPlan(
            name=endpoint_name if endpoint_name is not None else _name_of(self),
            region=_region_of(self),
            model=model,
            image=image,
            instance_type=instance_type,
            instance_count=instance_count,
            inference_ami=inference_ami,
            neuron=neuron,
            volume_gib=volume_gib,
            download_timeout_seconds=download_timeout_seconds,
            startup_timeout_seconds=startup_timeout_seconds,
            network_isolation=network_isolation,
            environment=dict(environment or {}),
            log_retention_days=log_retention_days,
        )
        self._check(plan, operations, network)
        self.endpoint_name = plan.name
        self._log = EndpointLog(
            self,
            "Log",
            endpoint_name=plan.name,
            retention_days=log_retention_days,
            encryption_key=encryption_key,
        )
        self.log_group = self._log.log_group
        self.capture = EndpointCapture(
            self, "Capture", capture=data_capture, endpoint_name=plan.name, encryption_key=encryption_key
        )
        """Where requests and answers are kept."""
        self.sight = EndpointSight(
            self,
            "Sight",
            operations=operations,
            endpoint_name=plan.name,
            variant_name=endpoint_settings().variant,
            instance_type=instance_type,
            log_group=self.log_group,
        )
        """Its alarms and its dashboard."""
        self._make(plan, operations, network, encryption_key)

    def _make(
        self,
        plan: EndpointPlan,
        operations: EndpointOperations,
        network: Network | None,
        encryption_key: kms.IKey | None,
    ) -> None:
        """Make role, model, configuration and endpoint, and what lives after them."""
        volume_key = encryption_key.key_arn if encryption_key and not plan.instance.local_disk_gb else None
        made = EndpointRole(
            self,
            "Role",
            description=_DESCRIPTION,
            permissions=self._permissions(plan, in_network=network is not None, volume_key_arn=volume_key),
        )
        self.role = made.role
        self.model = render_model(self, plan, role_arn=made.role.role_arn, vpc=self._vpc(network))
        self.endpoint_config = render_config(
            self,
            plan,
            model_name=self.model.attr_model_name,
            instance_count=operations.initial_instance_count(plan.instance_count),
            volume_key_arn=volume_key,
            capture=self.capture.config,
        )
        self.endpoint = render_endpoint(
            self,
            plan,
            config_name=self.endpoint_config.attr_endpoint_config_name,
            rollout=self.sight.deployment_config(),
            update=self.sight.update_arguments(),
        )
        # Gone before any of these goes, and not there before all of these are: SageMaker would make a log group of its
        # own, and instances without the role cannot be taken down.
        self.endpoint.node.add_dependency(self._log, made, *([network.connectivity] if network else ()))
        self.sight.before(self.endpoint)
        self.afterwards = EndpointAfterwards(
            self,
            "Afterwards",
            operations=operations,
            endpoint_name=plan.name,
            variant_name=endpoint_settings().variant,
            instance_count=plan.instance_count,
            endpoint=self.endpoint,
            endpoint_config=self.endpoint_config,
            model=self.model,
        )
        """Its scaling, its end and its budget."""

    def _permissions(self, plan: EndpointPlan, *, in_network: bool, volume_key_arn: str | None) -> list[Permission]:
        stack = cdk.Stack.of(self)
        place = Place(partition=stack.partition, region=stack.region, account=stack.account)
        of_endpoint = endpoint_permissions(
            plan,
            place,
            log_group_name=self._log.group_name,
            in_network=in_network,
            volume_key_arn=volume_key_arn,
        )
        return [*of_endpoint, *self.capture.permissions, *self.sight.permissions]

    def _vpc(self, network: Network | None) -> sagemaker.CfnModel.VpcConfigProperty | None:
        """Return where the instances stand; make their security group there."""
        if network is None:
            self.security_group = None
            return None
        group = EndpointSecurityGroup(self, "SecurityGroup", vpc=network.vpc)
        self.security_group = cast(ec2.ISecurityGroup, group)
        subnets = [subnet.subnet_id for subnet in network.compute_subnets.values()]
        return vpc_config(subnets, group.security_group_id)

    def _check(self, plan: EndpointPlan, operations: EndpointOperations, network: Network | None) -> None:
        """Raise all that is wrong; warn of what was reported of the image."""
        problems = [
            *plan.check(network),
            *check_operations(
                operations,
                instance_type=plan.instance_type,
                instance_count=plan.instance_count,
            ),
        ]
        if not problems and network is not None:
            # Only an endpoint that can exist takes addresses: a second try must not find those of the first.
            scaling = operations.scaling
            most = plan.instance_count if scaling is None else scaling.maximum
            problems += network.reserve_addresses(plan.claims(network, most=most))
        raise_problems(problems, subject=self.node.path)
        warning = warning_of(plan)
        if warning is not None:
            cdk.Annotations.of(self).add_warning_v2("llm-fleet:endpoint-image", f"{warning}; {_INSTEAD}")


_INSTEAD = "take EndpointImage.vllm() for a model that writes text, or try this one on one instance first"


def _name_of(scope: Construct) -> str:
    longest = endpoint_settings().name.maximum or 0
    # In small letters: ARNs of SageMaker have them so, and policies tell large ones apart.
    return cdk.Names.unique_resource_name(scope, max_length=longest, separator="-").strip("-").lower()


def _region_of(scope: Construct) -> str | None:
    region = cdk.Stack.of(scope).region
    return None if is_unresolved(region) else region
