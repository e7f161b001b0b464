"""A Hugging Face model on a SageMaker endpoint."""

import json
import shlex
from collections.abc import Mapping
from typing import cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.catalog.endpoint import endpoint_settings
from llm_fleet.iam.node_role import ServiceRole
from llm_fleet.iam.statements import Permission, Place
from llm_fleet.logs import SERVERS_LOG, log_group
from llm_fleet.network.network import Network
from llm_fleet.network.security_group import HttpsOutSecurityGroup
from llm_fleet.references import add_outputs, region_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import Form, check_forms, check_is_spec, key_form, network_form, topic_form
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.sagemaker.endpoint import check_endpoint, warning_of
from llm_fleet.sagemaker.endpoint_monitoring import EndpointMonitoring
from llm_fleet.sagemaker.endpoint_operations import EndpointAfterwards
from llm_fleet.sagemaker.endpoint_permissions import EndpointCapture, endpoint_permissions
from llm_fleet.sagemaker.render_endpoint import EndpointPlan, render_config, render_endpoint, render_model
from llm_fleet.spec.endpoint import EndpointImageKind, EndpointSpec


class EndpointGrants:
    """Grants on an endpoint. Each method returns the `Grant`; its `success` is `False` for an imported role."""

    def __init__(self, endpoint_arn: str) -> None:
        """Create grants on the endpoint with this ARN."""
        self._arn = endpoint_arn

    def invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` invoke the endpoint, with or without response streaming."""
        return self._grant(grantee, "sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream")

    def describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` call DescribeEndpoint."""
        return self._grant(grantee, "sagemaker:DescribeEndpoint")

    def _grant(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        return iam.Grant.add_to_principal(grantee=grantee, actions=[*actions], resource_arns=[self._arn])


_NAMESPACE = "AWS/SageMaker"
_QUESTION = "The capital of Japan is"


@jsii.implements(ec2.IConnectable)
class EndpointBase(Construct):
    """The attributes and grants of an endpoint, which `HuggingFaceEndpoint` sets."""

    endpoint_name: str
    """Callers pass it to `InvokeEndpoint`."""
    model: sagemaker.CfnModel
    """The L1 of the model."""
    endpoint_config: sagemaker.CfnEndpointConfig
    """The L1 of the configuration."""
    endpoint: sagemaker.CfnEndpoint
    """The L1 of the endpoint."""
    log_group: logs.CfnLogGroup
    """Log group of its containers."""
    role: iam.IRole
    """Execution role: SageMaker pulls image and model with it."""
    security_group: ec2.ISecurityGroup | None
    """Security group of its instances; `None` without a VPC."""
    _plan: EndpointPlan
    _connections: ec2.Connections | None = None

    @property
    def endpoint_arn(self) -> str:
        """The ARN, a CDK token."""
        return self.endpoint.ref

    @property
    def grants(self) -> EndpointGrants:
        """Grants for other roles and users."""
        return EndpointGrants(self.endpoint_arn)

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` invoke the endpoint; the same as `grants.invoke`."""
        return self.grants.invoke(grantee)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """The security group of its instances, for egress rules; empty without a network.

        No ingress rules are needed: callers invoke SageMaker, which forwards requests to the instances.
        """
        if self._connections is None:
            groups = [self.security_group] if self.security_group else []
            self._connections = ec2.Connections(security_groups=groups)
        return self._connections

    def metric(self, name: str, *, statistic: str = "Average", period_seconds: int = 60) -> cloudwatch.Metric:
        """Return the metric `name` of the endpoint in the namespace `AWS/SageMaker`."""
        return cloudwatch.Metric(
            namespace=_NAMESPACE,
            metric_name=name,
            dimensions_map={"EndpointName": self.endpoint_name, "VariantName": endpoint_settings().variant},
            statistic=statistic,
            period=cdk.Duration.seconds(period_seconds),
        )

    def metric_invocations(self) -> cloudwatch.Metric:
        """Return the number of requests."""
        return self.metric("Invocations", statistic="Sum")

    def metric_model_latency(self) -> cloudwatch.Metric:
        """Return the average response time of the container in microseconds."""
        return self.metric("ModelLatency")

    def metric_server_errors(self) -> cloudwatch.Metric:
        """Return the number of 5xx responses."""
        return self.metric("Invocation5XXErrors", statistic="Sum")

    @property
    def invoke_command(self) -> str:
        """An AWS CLI command that sends a prompt to the model and prints the response."""
        body = shlex.quote(json.dumps(_body(self._plan.kind)))
        return (
            f"aws sagemaker-runtime invoke-endpoint --region {cdk.Stack.of(self).region} "
            f"--endpoint-name {self.endpoint_name} --content-type application/json "
            f"--cli-binary-format raw-in-base64-out --body {body} /dev/stdout"
        )

    def add_outputs(self) -> None:
        """Add stack outputs: the endpoint's name, a command that invokes it, log group and more."""
        outputs = {
            "EndpointName": (self.endpoint_name, "Name of the endpoint, for InvokeEndpoint"),
            "InvokeCommand": (self.invoke_command, "Sends a prompt to the model"),
            "LogGroupName": (self.log_group.ref, "CloudWatch log group of the containers"),
        }
        add_outputs(self, outputs)


def _body(kind: EndpointImageKind | None) -> dict[str, object]:
    """Return a request in the format of the image: an OpenAI completion for vLLM, `inputs` for the others."""
    if kind is EndpointImageKind.VLLM:
        return {"prompt": _QUESTION, "max_tokens": 16}
    return {"inputs": _QUESTION}


_FORMS: Mapping[str, Form] = {
    "network": network_form(
        'write FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az1", "usw2-az2"])), '
        "or omit `network`"
    ),
    "encryption_key": key_form(),
    "alarm_topic": topic_form('write AlarmTopic(self, "Topic"), or sns.Topic.from_topic_arn(…)'),
}
_LOGS = "/aws/sagemaker/Endpoints"
_DESCRIPTION = "Execution role of a SageMaker endpoint: image, model and logs"


class HuggingFaceEndpoint(EndpointBase):
    """A Hugging Face model on GPUs, Inferentia, Trainium or CPUs, called with `InvokeEndpoint`.

    The constructor checks what would otherwise fail only at deployment, and raises all problems in one `FleetError`
    before it adds a resource to the template: a model that does not fit, an image that does not support the instance,
    a host driver that is too old for the image. The endpoint is an `ec2.IConnectable` (its instances).

    The endpoint keeps its name. A change replaces model and configuration, and the update starts new instances before
    it ends the old ones.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        endpoint: EndpointSpec,
        *,
        network: Network | None = None,
        encryption_key: kms.IKey | None = None,
        alarm_topic: sns.ITopic | sns.Topic | None = None,
    ) -> None:
        """Create the endpoint of the specification `endpoint`. Raises `FleetError` with all problems.

        - `network`: the instances get network interfaces in its compute subnets. Default: none, they are in
          a VPC of SageMaker.
        - `encryption_key`: encrypts the log, the EBS volume and related resources; its policy must let
          CloudWatch Logs use it, as that of `FleetKey` does. Default: keys that AWS owns.
        - `alarm_topic`: receives all notifications of the endpoint. Default: `endpoint.alarms.topic_arn`.
        """
        super().__init__(scope, id)
        raise_problems(
            [
                *check_is_spec(endpoint, EndpointSpec, "endpoint"),
                *check_forms(
                    {"network": network, "encryption_key": encryption_key, "alarm_topic": alarm_topic}, _FORMS
                ),
            ],
            subject=self.node.path,
        )
        if endpoint.name is None:
            endpoint = endpoint.narrowed(EndpointSpec, name=_name_of(self))
        plan = self._plan = EndpointPlan(spec=endpoint, region=region_of(self))
        self._check(plan, network, alarm_topic)
        topic = cast(sns.ITopic | None, alarm_topic)
        if topic is None and endpoint.alarms.topic_arn is not None:
            topic = sns.Topic.from_topic_arn(self, "AlarmTopic", endpoint.alarms.topic_arn)
        self.endpoint_name = plan.name
        # Created here because a log group that SageMaker creates is never deleted. SageMaker's guide defines the name.
        self.log_group = log_group(
            Construct(self, "Log"),
            "Resource",
            name=f"{_LOGS}/{plan.name}",
            retention_days=endpoint.log_retention_days,
            encryption_key=encryption_key,
            holds=SERVERS_LOG,
        )
        self.capture = EndpointCapture(
            self, "Capture", capture=endpoint.data_capture, endpoint_name=plan.name, encryption_key=encryption_key
        )
        """Data capture of requests and responses."""
        self.monitoring = EndpointMonitoring(
            self,
            "Sight",  # codespell:ignore sight
            plan=plan,
            log_group=self.log_group,
            topic=topic,
        )
        """Alarms and dashboard."""
        self._make(plan, network, encryption_key, topic)

    def _make(
        self, plan: EndpointPlan, network: Network | None, encryption_key: kms.IKey | None, topic: sns.ITopic | None
    ) -> None:
        """Create role, model, configuration, endpoint, and the resources that depend on it."""
        volume_key = encryption_key.key_arn if encryption_key and not plan.instance.local_disk_gb else None
        # The trust has no `aws:SourceAccount`: SageMaker's page on the confused deputy does not list endpoints among
        # the resources that send this key. assumption: sagemaker-sends-no-source-account
        made = ServiceRole(
            self,
            "Role",
            service="sagemaker.amazonaws.com",
            description=_DESCRIPTION,
            permissions=self._permissions(plan, in_network=network is not None, volume_key_arn=volume_key),
        )
        self.role = made.role
        self.model = render_model(self, plan, role_arn=made.role.role_arn, vpc=self._vpc(network))
        self.endpoint_config = render_config(
            self,
            plan,
            model_name=self.model.attr_model_name,
            volume_key_arn=volume_key,
            capture=self.capture.config,
        )
        self.endpoint = render_endpoint(
            self,
            plan,
            config_name=self.endpoint_config.attr_endpoint_config_name,
            rollout=self.monitoring.deployment_config(),
            update=self.monitoring.update_arguments(),
        )
        # The endpoint is created after these and deleted before them: otherwise SageMaker would create its own log
        # group, and could not delete instances without the role.
        self.endpoint.node.add_dependency(self.log_group, made, *([network.connectivity] if network else ()))
        self.monitoring.before(self.endpoint)
        self.afterwards = EndpointAfterwards(
            self,
            "Afterwards",
            spec=plan.spec,
            endpoint=self.endpoint,
            endpoint_config=self.endpoint_config,
            model=self.model,
            encryption_key=encryption_key,
            topic=topic,
        )
        """Scaling, time to live and budget."""

    def _permissions(self, plan: EndpointPlan, *, in_network: bool, volume_key_arn: str | None) -> list[Permission]:
        place = Place.of(self)
        of_endpoint = endpoint_permissions(
            plan,
            place,
            log_group_name=f"{_LOGS}/{plan.name}",
            in_network=in_network,
            volume_key_arn=volume_key_arn,
        )
        return [*of_endpoint, *self.capture.permissions, *self.monitoring.permissions]

    def _vpc(self, network: Network | None) -> sagemaker.CfnModel.VpcConfigProperty | None:
        """Return the VPC configuration of the instances; create their security group."""
        if network is None:
            self.security_group = None
            return None
        # Callers reach an endpoint through SageMaker's API, not through this group.
        group = HttpsOutSecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description="Instances of a SageMaker endpoint: nothing in, HTTPS out",
            reaches="S3, AWS services, and the Hugging Face Hub if there is a route",
        )
        self.security_group = cast(ec2.ISecurityGroup, group)
        subnets = [subnet.subnet_id for subnet in network.compute_subnets.values()]
        return sagemaker.CfnModel.VpcConfigProperty(subnets=subnets, security_group_ids=[group.security_group_id])

    def _check(self, plan: EndpointPlan, network: Network | None, alarm_topic: sns.ITopic | sns.Topic | None) -> None:
        """Raise all problems; add a warning about known problems of the image."""
        problems = [
            *check_endpoint(
                plan.spec,
                region=plan.region,
                internet=network.internet if network else None,
                in_network=network is not None,
                has_topic=alarm_topic is not None or plan.spec.alarms.topic_arn is not None,
            ),
            *plan.repository_is_known(),
            *_one_topic(plan.spec, alarm_topic),
        ]
        if not problems and network is not None:
            # Claim addresses only for a valid endpoint, so that a second attempt does not find claims of the first.
            problems += network.reserve_addresses(plan.claims(network))
        raise_problems(problems, subject=self.node.path)
        warning = warning_of(plan.spec)
        if warning is not None:
            cdk.Annotations.of(self).add_warning_v2("llm-fleet:endpoint-image", f"{warning}; {_INSTEAD}")


def _one_topic(spec: EndpointSpec, alarm_topic: object) -> list[Problem]:
    if alarm_topic is None or spec.alarms.topic_arn is None:
        return []
    return [
        Problem(
            code=Code.CONTRADICTION,
            message="alarms use one topic, and `alarm_topic` is a different one",
            remedy="set only one of them",
            path=("alarms", "topic_arn"),
            value=spec.alarms.topic_arn,
        )
    ]


_INSTEAD = "use EndpointImage.vllm() for a text generation model, or test this image on one instance first"


def _name_of(scope: Construct) -> str:
    longest = endpoint_settings().name.maximum or 0
    # In lowercase: SageMaker's ARNs have lowercase names, and IAM policies are case-sensitive.
    return cdk.Names.unique_resource_name(scope, max_length=longest, separator="-").strip("-").lower()
