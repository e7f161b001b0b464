"""What comes after an endpoint: what scales it, what ends it, and what it may cost."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

import llm_fleet.functions
from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.endpoint import budget_facts, endpoint_scaling_facts, endpoint_settings, time_to_live_facts
from llm_fleet.lifecycle.python_function import FunctionCode, PythonFunction
from llm_fleet.lifecycle.script_folder import read_folder
from llm_fleet.notifications.cost_budget import CostBudget
from llm_fleet.notifications.metric_alarms import MetricAlarms
from llm_fleet.sagemaker.endpoint_monitoring import time_to_live_plan
from llm_fleet.spec.endpoint import EndpointSpec
from llm_fleet.spec.endpoint_operations import EndpointBudget, EndpointScaling

_Policy = autoscaling.CfnScalingPolicy


def scaled_id(endpoint_name: str) -> str:
    """Return Application Auto Scaling's name of the endpoint's variant."""
    return f"endpoint/{endpoint_name}/variant/{endpoint_settings().variant}"


class EndpointScaler(Construct):
    """Target tracking on an endpoint's variant.

    Application Auto Scaling acts with its service-linked role, which it makes itself. It goes with the endpoint: who
    deletes that must be allowed to deregister it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        spec: EndpointSpec,
        scaling: EndpointScaling,
        endpoint_name: str,
        endpoint: sagemaker.CfnEndpoint,
    ) -> None:
        """Scale `endpoint`, which `spec` describes."""
        super().__init__(scope, id)
        facts = endpoint_scaling_facts()
        self.target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="sagemaker",
            scalable_dimension=facts.dimension,
            resource_id=scaled_id(endpoint_name),
            min_capacity=spec.least_instance_count,
            max_capacity=scaling.maximum,
            # By this tag the function that ends the endpoint may deregister this target, and no other.
            tags=[cdk.CfnTag(key=budget_facts().tag, value=endpoint_name)],
        )
        """The L1 beneath."""
        self.target.add_resource_dependency(endpoint)
        self.policy = _Policy(
            self,
            "Policy",
            policy_name=f"{endpoint_name}-load",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self.target.ref,
            target_tracking_scaling_policy_configuration=_configuration(scaling),
        )
        """The L1 of its policy."""


def _configuration(scaling: EndpointScaling) -> _Policy.TargetTrackingScalingPolicyConfigurationProperty:
    facts = endpoint_scaling_facts()
    per_minute = scaling.invocations_per_minute
    target, metric = (
        (facts.concurrent_requests if scaling.concurrent_requests is None else scaling.concurrent_requests)
        if per_minute is None
        else per_minute,
        facts.concurrent_metric if per_minute is None else facts.invocations_metric,
    )
    return _Policy.TargetTrackingScalingPolicyConfigurationProperty(
        target_value=target,
        scale_out_cooldown=facts.out_seconds if scaling.scale_out_seconds is None else scaling.scale_out_seconds,
        scale_in_cooldown=facts.in_seconds if scaling.scale_in_seconds is None else scaling.scale_in_seconds,
        predefined_metric_specification=_Policy.PredefinedMetricSpecificationProperty(predefined_metric_type=metric),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaperStatements:
    """The statements of one endpoint's function. Each says what it is for by its id."""

    stack: cdk.Stack
    endpoint_name: str
    endpoint_arn: str
    """As SageMaker writes it, like the two below: in small letters, which a name need not be."""
    config_arn: str
    model_arn: str
    rule_name: str
    scaled: str
    """Application Auto Scaling's name of the variant; empty when nothing scales."""
    topic: sns.ITopic | None

    def statements(self) -> list[iam.PolicyStatement]:
        """Return all of them."""
        return [*self._of_hosting(), self._of_rule(), *self._of_scaling(), *self._of_topic()]

    def wildcards(self) -> dict[str, str]:
        """Return the reasons of the ARNs with a `*`."""
        reasons: dict[str, str] = {}
        if self.scaled:
            reasons[self._targets] = "ids of scalable targets are made up; the condition holds it to its own by tag"
            reasons[self._policy_alarms] = "Application Auto Scaling makes up the ends of these names"
        if self.topic and not self.topic.master_key:
            reasons[self._keys] = "the key of a topic that exists is not known; the condition holds it to that topic"
        return reasons

    def _of_hosting(self) -> list[iam.PolicyStatement]:
        return [
            _allow("EndEndpoint", ["sagemaker:DescribeEndpoint", "sagemaker:DeleteEndpoint"], self.endpoint_arn),
            _allow(
                "EndConfig", ["sagemaker:DescribeEndpointConfig", "sagemaker:DeleteEndpointConfig"], self.config_arn
            ),
            _allow("EndModel", ["sagemaker:DescribeModel", "sagemaker:DeleteModel"], self.model_arn),
            # A configuration or model is deleted only if this function has marked it before.
            _allow("Mark", ["sagemaker:AddTags", "sagemaker:ListTags"], self.config_arn, self.model_arn),
        ]

    def _of_rule(self) -> iam.PolicyStatement:
        rule = self.stack.format_arn(service="events", resource="rule", resource_name=self.rule_name)
        return _allow("RunNoMore", ["events:DisableRule"], rule)

    def _of_scaling(self) -> list[iam.PolicyStatement]:
        """SageMaker deletes no endpoint that scales for who may not deregister its target (its guide says so)."""
        if not self.scaled:
            return []
        deregister = _allow("StopScaling", ["application-autoscaling:DeregisterScalableTarget"], self._targets)
        deregister.add_conditions(
            {
                "StringEquals": {
                    f"aws:ResourceTag/{budget_facts().tag}": self.endpoint_name,
                    "application-autoscaling:service-namespace": "sagemaker",
                    "application-autoscaling:scalable-dimension": endpoint_scaling_facts().dimension,
                }
            }
        )
        # Its guide asks this of the caller who deletes a target tracking policy, beside its own role.
        # assumption: scaling-policy-delete-by-caller
        return [deregister, _allow("PolicyAlarms", ["cloudwatch:DeleteAlarms"], self._policy_alarms)]

    def _of_topic(self) -> list[iam.PolicyStatement]:
        topic = self.topic
        if topic is None:
            return []
        key_arn = topic.master_key.key_arn if topic.master_key else self._keys
        key = _allow("TellKey", ["kms:Decrypt", "kms:GenerateDataKey"], key_arn)
        if not topic.master_key:
            key.add_conditions({"StringEquals": {"kms:EncryptionContext:aws:sns:topicArn": topic.topic_arn}})
        return [_allow("Tell", ["sns:Publish"], topic.topic_arn), key]

    @property
    def _targets(self) -> str:
        return self.stack.format_arn(service="application-autoscaling", resource="scalable-target", resource_name="*")

    @property
    def _policy_alarms(self) -> str:
        return self.stack.format_arn(
            service="cloudwatch",
            resource="alarm",
            resource_name=f"TargetTracking-{self.scaled}-*",
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )

    @property
    def _keys(self) -> str:
        return self.stack.format_arn(service="kms", resource="key", resource_name="*")


def _allow(sid: str, actions: list[str], *resources: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=actions, resources=list(resources))


_NAME = "endpoint_reaper"
_LONGEST_RULE = 64
"""EventBridge's limit (botocore 1.44.5, events RuleName)."""
_CODE = FunctionCode(
    archive=f"{_NAME}.zip",
    files=lambda: read_folder(Path(next(iter(llm_fleet.functions.__path__))) / _NAME),
    below=f"{_NAME}/",
    handler=f"{_NAME}.handler.handler",
    timeout=time_to_live_facts().timeout_seconds,
    description="Deletes an endpoint of SageMaker when its time to live is over",
    policy_description="Lets the function that ends an endpoint delete it, and what belongs to it",
    role_description="Runs the function that ends an endpoint",
    unencrypted_log="it writes names and times only; `encryption_key` takes a key that CloudWatch Logs may use",
)


class EndpointReaper(Construct):
    """A function, and the rule that runs it every 15 minutes, which delete an endpoint after its time to live.

    It deletes the endpoint, its configuration and its model, and what scales it; nothing else, and it may do nothing
    else. It looks at what is there each time, so that a run that fails or comes twice changes nothing. Then it tells
    the topic, and switches its rule off.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        seconds: int,
        scales: bool,
        endpoint_name: str,
        endpoint: sagemaker.CfnEndpoint,
        endpoint_config: sagemaker.CfnEndpointConfig,
        model: sagemaker.CfnModel,
        encryption_key: kms.IKey | None,
        topic: sns.ITopic | None,
    ) -> None:
        """Make them; they come after `endpoint`, so that one which is still being made is not taken for gone."""
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        rule_name = _rule_name(endpoint_name)
        scaled = scaled_id(endpoint_name) if scales else ""
        self.function = PythonFunction(
            self,
            "Function",
            code=_CODE,
            environment={
                "ENDPOINT_NAME": endpoint_name,
                "CONFIG_NAME": endpoint_config.attr_endpoint_config_name,
                "MODEL_NAME": model.attr_model_name,
                "TTL_SECONDS": cdk.Tokenization.stringify_number(seconds),
                "RULE_NAME": rule_name,
                **({"SCALED": scaled} if scaled else {}),
                **({"TOPIC_ARN": topic.topic_arn} if topic else {}),
            },
            log_encryption_key=encryption_key,
        )
        """The function, its role and its log."""
        allowed = ReaperStatements(
            stack=stack,
            endpoint_name=endpoint_name,
            endpoint_arn=endpoint.ref,
            config_arn=endpoint_config.ref,
            model_arn=model.ref,
            rule_name=rule_name,
            scaled=scaled,
            topic=topic,
        )
        self.function.allow_statements(allowed.statements(), wildcards=allowed.wildcards())
        self.rule = self._make_rule(rule_name, endpoint)
        """The rule that runs it."""
        plan = time_to_live_plan(self.function.function.ref)
        self.alarms = MetricAlarms(self, "Alarms", plans=[plan], name_prefix=endpoint_name, topic=topic).alarms
        """The alarm `TimeToLive`: it rings when the function fails again and again."""
        acknowledge(
            self,
            "it runs every 15 minutes, looks at what is there, and the next run does what one has missed",
            "NIST.800.53.R5-LambdaConcurrency",
            "NIST.800.53.R5-LambdaDLQ",
        )

    def _make_rule(self, name: str, endpoint: sagemaker.CfnEndpoint) -> events.CfnRule:
        function = self.function.function
        rule = events.CfnRule(
            self,
            "Rule",
            name=name,
            description="Looks whether the endpoint's time to live is over",
            schedule_expression=f"rate({time_to_live_facts().check_minutes} minutes)",
            targets=[events.CfnRule.TargetProperty(arn=function.attr_arn, id="Reaper")],
        )
        function.add_resource_dependency(endpoint)
        rule.add_resource_dependency(endpoint)
        lambda_.CfnPermission(
            self,
            "Permission",
            action="lambda:InvokeFunction",
            function_name=function.ref,
            principal="events.amazonaws.com",
            source_arn=rule.attr_arn,
        )
        return rule


def _rule_name(endpoint_name: str) -> str:
    name = f"{endpoint_name}-ttl"
    if len(name) <= _LONGEST_RULE:
        return name
    digest = hashlib.sha256(endpoint_name.encode()).hexdigest()[:8]
    return f"{endpoint_name[: _LONGEST_RULE - len(digest) - 5]}-{digest}-ttl"


class MonthlyBudget(CostBudget):
    """A budget of AWS Budgets over what SageMaker costs in a month, in the account or for one endpoint."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        budget: EndpointBudget,
        endpoint_name: str,
        topic: sns.ITopic | None = None,
    ) -> None:
        """Make it. `topic`: told beside the budget's e-mail addresses; one that was imported must let Budgets write."""
        super().__init__(
            scope,
            id,
            monthly_usd=budget.monthly_usd,
            at_percent=budget.at_percent,
            forecast=budget.forecast,
            emails=budget.emails,
            filters=_filters(budget, endpoint_name),
            topic=topic,
        )


def _filters(budget: EndpointBudget, endpoint_name: str) -> dict[str, list[str]]:
    """Without an activated tag, a filter by it counts nothing: so the default is all of SageMaker."""
    facts = budget_facts()
    service = {"Service": [facts.service]}
    if not budget.tagged_only:
        return service
    return {**service, "TagKeyValue": [f"user:{facts.tag}${endpoint_name}"]}


class EndpointAfterwards(Construct):
    """Scaling, end and budget of an endpoint, each where it was asked for."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        spec: EndpointSpec,
        endpoint: sagemaker.CfnEndpoint,
        endpoint_config: sagemaker.CfnEndpointConfig,
        model: sagemaker.CfnModel,
        encryption_key: kms.IKey | None,
        topic: sns.ITopic | None,
    ) -> None:
        """Make what `spec` asks for around `endpoint`; tag that and its parts, so that a budget can count them.

        `encryption_key`: of the log of the function that ends it. `None`: CloudWatch's own encryption.
        """
        super().__init__(scope, id)
        assert spec.name is not None
        for part in (endpoint, endpoint_config, model):
            cdk.Tags.of(part).add(budget_facts().tag, spec.name)
        self.scaler = spec.scaling and EndpointScaler(
            self, "Scaling", spec=spec, scaling=spec.scaling, endpoint_name=spec.name, endpoint=endpoint
        )
        """What scales it; `None` where its number of instances is fixed."""
        self.reaper = spec.time_to_live_seconds and EndpointReaper(
            self,
            "TimeToLive",
            seconds=spec.time_to_live_seconds,
            scales=spec.scaling is not None,
            endpoint_name=spec.name,
            endpoint=endpoint,
            endpoint_config=endpoint_config,
            model=model,
            encryption_key=encryption_key,
            topic=topic,
        )
        """What ends it; `None` where it stays."""
        self.budget = spec.budget and MonthlyBudget(
            self, "Budget", budget=spec.budget, endpoint_name=spec.name, topic=topic
        )
        """What it may cost; `None` where there is no budget."""
