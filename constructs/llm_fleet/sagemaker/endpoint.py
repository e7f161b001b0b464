"""A model of Hugging Face behind an endpoint of SageMaker."""

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
    """What others may do with an endpoint. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, endpoint_arn: str) -> None:
        """Grant on the endpoint of that ARN."""
        self._arn = endpoint_arn

    def invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` ask the model, for a whole answer or for a stream."""
        return self._grant(grantee, "sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream")

    def describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the endpoint and its state."""
        return self._grant(grantee, "sagemaker:DescribeEndpoint")

    def _grant(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        return iam.Grant.add_to_principal(grantee=grantee, actions=[*actions], resource_arns=[self._arn])


_NAMESPACE = "AWS/SageMaker"
_QUESTION = "The capital of Japan is"


@jsii.implements(ec2.IConnectable)
class EndpointBase(Construct):
    """An endpoint for those who use it. `HuggingFaceEndpoint` sets what is here."""

    endpoint_name: str
    """What callers name: `InvokeEndpoint` takes it."""
    model: sagemaker.CfnModel
    """The L1 of the model."""
    endpoint_config: sagemaker.CfnEndpointConfig
    """The L1 of the configuration."""
    endpoint: sagemaker.CfnEndpoint
    """The L1 of the endpoint."""
    log_group: logs.CfnLogGroup
    """What its containers log into."""
    role: iam.IRole
    """What SageMaker acts as to fetch image and model."""
    security_group: ec2.ISecurityGroup | None
    """Of its instances; `None` for one that stands in no network of yours."""
    _plan: EndpointPlan
    _connections: ec2.Connections | None = None

    @property
    def endpoint_arn(self) -> str:
        """Its ARN, a token."""
        return self.endpoint.ref

    @property
    def grants(self) -> EndpointGrants:
        """What others may do with it."""
        return EndpointGrants(self.endpoint_arn)

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` ask the model, as `grants.invoke` does."""
        return self.grants.invoke(grantee)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """The security group of its instances, for where they may connect to; none without a network.

        Nothing connects to the instances: callers ask SageMaker, which asks them.
        """
        if self._connections is None:
            groups = [self.security_group] if self.security_group else []
            self._connections = ec2.Connections(security_groups=groups)
        return self._connections

    def metric(self, name: str, *, statistic: str = "Average", period_seconds: int = 60) -> cloudwatch.Metric:
        """Return the metric `name` of the endpoint, of the namespace `AWS/SageMaker`."""
        return cloudwatch.Metric(
            namespace=_NAMESPACE,
            metric_name=name,
            dimensions_map={"EndpointName": self.endpoint_name, "VariantName": endpoint_settings().variant},
            statistic=statistic,
            period=cdk.Duration.seconds(period_seconds),
        )

    def metric_invocations(self) -> cloudwatch.Metric:
        """Return how many requests there were."""
        return self.metric("Invocations", statistic="Sum")

    def metric_model_latency(self) -> cloudwatch.Metric:
        """Return how long the container took to answer, in microseconds, on average."""
        return self.metric("ModelLatency")

    def metric_server_errors(self) -> cloudwatch.Metric:
        """Return how many requests were answered with 5xx."""
        return self.metric("Invocation5XXErrors", statistic="Sum")

    @property
    def invoke_command(self) -> str:
        """A line for the AWS CLI that asks the model something and prints the answer."""
        body = shlex.quote(json.dumps(_body(self._plan.kind)))
        return (
            f"aws sagemaker-runtime invoke-endpoint --region {cdk.Stack.of(self).region} "
            f"--endpoint-name {self.endpoint_name} --content-type application/json "
            f"--cli-binary-format raw-in-base64-out --body {body} /dev/stdout"
        )

    def add_outputs(self) -> None:
        """Give the stack outputs: the endpoint's name, how to ask it, and what else an operator asks for."""
        outputs = {
            "EndpointName": (self.endpoint_name, "Name of the endpoint, for InvokeEndpoint"),
            "InvokeCommand": (self.invoke_command, "Asks the model something"),
            "LogGroupName": (self.log_group.ref, "CloudWatch log group of the containers"),
        }
        add_outputs(self, outputs)


def _body(kind: EndpointImageKind | None) -> dict[str, object]:
    """Return a request as the image takes it: vLLM an OpenAI completion, the others `inputs`."""
    if kind is EndpointImageKind.VLLM:
        return {"prompt": _QUESTION, "max_tokens": 16}
    return {"inputs": _QUESTION}


_FORMS: Mapping[str, Form] = {
    "network": network_form(
        'write FleetNetwork(self, "Network", NetworkSpec(availability_zone_ids=["usw2-az1", "usw2-az2"])), '
        "or leave it out"
    ),
    "encryption_key": key_form(),
    "alarm_topic": topic_form('write AlarmTopic(self, "Topic"), or sns.Topic.from_topic_arn(…)'),
}
_LOGS = "/aws/sagemaker/Endpoints"
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
        endpoint: EndpointSpec,
        *,
        network: Network | None = None,
        encryption_key: kms.IKey | None = None,
        alarm_topic: sns.ITopic | sns.Topic | None = None,
    ) -> None:
        """Make what `endpoint` describes; raise `FleetError` with all that is wrong with it.

        - `network`: where the instances have an interface, in its compute subnets. Default: none, they stand in
          SageMaker's own network.
        - `encryption_key`: of the log, of an EBS volume, and of what goes on around the endpoint; its policy must let
          CloudWatch Logs use it, as that of `FleetKey` does. Default: keys of AWS's own.
        - `alarm_topic`: what alarms, the budget and the endpoint's end go to. Default: `endpoint.alarms.topic_arn`.
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
        # Made beforehand, since one that SageMaker makes is kept for ever; its name is that of SageMaker's guide.
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
        """Where requests and answers are kept."""
        self.monitoring = EndpointMonitoring(self, "Sight", plan=plan, log_group=self.log_group, topic=topic)
        """Its alarms and its dashboard."""
        self._make(plan, network, encryption_key, topic)

    def _make(
        self, plan: EndpointPlan, network: Network | None, encryption_key: kms.IKey | None, topic: sns.ITopic | None
    ) -> None:
        """Make role, model, configuration and endpoint, and what lives after them."""
        volume_key = encryption_key.key_arn if encryption_key and not plan.instance.local_disk_gb else None
        # Its trust has no `aws:SourceAccount`: SageMaker's page on the confused deputy does not list endpoints among
        # what sends that key. assumption: sagemaker-sends-no-source-account
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
        # Gone before any of these goes, and not there before all of these are: SageMaker would make a log group of its
        # own, and instances without the role cannot be taken down.
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
        """Its scaling, its end and its budget."""

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
        """Return where the instances stand; make their security group there."""
        if network is None:
            self.security_group = None
            return None
        # Callers reach an endpoint by SageMaker's own address, not through this group.
        group = HttpsOutSecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description="Instances of a SageMaker endpoint: nothing in, HTTPS out",
            reaches="S3, services of AWS, and the Hub where a route leads",
        )
        self.security_group = cast(ec2.ISecurityGroup, group)
        subnets = [subnet.subnet_id for subnet in network.compute_subnets.values()]
        return sagemaker.CfnModel.VpcConfigProperty(subnets=subnets, security_group_ids=[group.security_group_id])

    def _check(self, plan: EndpointPlan, network: Network | None, alarm_topic: sns.ITopic | sns.Topic | None) -> None:
        """Raise all that is wrong; warn of what was reported of the image."""
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
            # Only an endpoint that can exist takes addresses: a second try must not find those of the first.
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
            message="alarms go to one topic, and `alarm_topic` is another",
            remedy="leave one of them out",
            path=("alarms", "topic_arn"),
            value=spec.alarms.topic_arn,
        )
    ]


_INSTEAD = "take EndpointImage.vllm() for a model that writes text, or try this one on one instance first"


def _name_of(scope: Construct) -> str:
    longest = endpoint_settings().name.maximum or 0
    # In small letters: ARNs of SageMaker have them so, and policies tell large ones apart.
    return cdk.Names.unique_resource_name(scope, max_length=longest, separator="-").strip("-").lower()
