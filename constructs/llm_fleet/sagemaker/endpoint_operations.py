"""What comes after an endpoint: what scales it, what ends it, and what it may cost."""

import hashlib

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_events as events
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.endpoint import budget_facts, endpoint_scaling_facts, endpoint_settings, time_to_live_facts
from llm_fleet.iam.statements import Permission, Place, reasons_of, statement_of
from llm_fleet.lifecycle.python_function import FunctionCode, PythonFunction
from llm_fleet.notifications.alarm_topic import CostBudget
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


def reaper_permissions(
    place: Place,
    *,
    endpoint_name: str,
    endpoint_arn: str,
    config_arn: str,
    model_arn: str,
    rule_name: str,
    scaled: str,
    topic: sns.ITopic | None,
) -> list[Permission]:
    """Return what the function may do that ends one endpoint.

    The ARNs are as SageMaker writes them: in small letters, which a name need not be. `scaled`: Application Auto
    Scaling's name of the variant; empty when nothing scales.
    """
    hosting = {
        "EndEndpoint": ("Endpoint", endpoint_arn),
        "EndConfig": ("EndpointConfig", config_arn),
        "EndModel": ("Model", model_arn),
    }
    return [
        *(
            Permission(
                sid=sid,
                actions=(f"sagemaker:Describe{kind}", f"sagemaker:Delete{kind}"),
                resources=(arn,),
                reason="it looks whether this is there still, and deletes it",
            )
            for sid, (kind, arn) in hosting.items()
        ),
        Permission(
            sid="Mark",
            actions=("sagemaker:AddTags", "sagemaker:ListTags"),
            resources=(config_arn, model_arn),
            reason="a configuration or model is deleted only if this function has marked it before",
        ),
        Permission(
            sid="RunNoMore",
            actions=("events:DisableRule",),
            resources=(place.arn("events", f"rule/{rule_name}"),),
            reason="when all is gone, it runs no more",
        ),
        *(_stop_scaling(place, endpoint_name, scaled) if scaled else ()),
        *(_publish(place, topic) if topic else ()),
    ]


def _stop_scaling(place: Place, endpoint_name: str, scaled: str) -> tuple[Permission, ...]:
    """SageMaker deletes no endpoint that scales for who may not deregister its target (its guide says so)."""
    return (
        Permission(
            sid="StopScaling",
            actions=("application-autoscaling:DeregisterScalableTarget",),
            resources=(place.arn("application-autoscaling", "scalable-target/*"),),
            conditions={
                "StringEquals": {
                    f"aws:ResourceTag/{budget_facts().tag}": endpoint_name,
                    "application-autoscaling:service-namespace": "sagemaker",
                    "application-autoscaling:scalable-dimension": endpoint_scaling_facts().dimension,
                }
            },
            reason="ids of scalable targets are made up; the condition holds it to its own by tag",
        ),
        # Its guide asks this of the caller who deletes a target tracking policy, beside its own role.
        # assumption: scaling-policy-delete-by-caller
        Permission(
            sid="PolicyAlarms",
            actions=("cloudwatch:DeleteAlarms",),
            resources=(place.arn("cloudwatch", f"alarm:TargetTracking-{scaled}-*"),),
            reason="Application Auto Scaling makes up the ends of these names",
        ),
    )


def _publish(place: Place, topic: sns.ITopic) -> tuple[Permission, ...]:
    known = topic.master_key
    context = {"StringEquals": {"kms:EncryptionContext:aws:sns:topicArn": topic.topic_arn}}
    return (
        Permission(
            sid="Tell", actions=("sns:Publish",), resources=(topic.topic_arn,), reason="the end is told to the topic"
        ),
        Permission(
            sid="TellKey",
            actions=("kms:Decrypt", "kms:GenerateDataKey"),
            resources=(known.key_arn if known else place.arn("kms", "key/*"),),
            conditions={} if known else context,
            reason="the topic is encrypted"
            if known
            else "the key of a topic that exists is not known; the condition holds it to that topic",
        ),
    )


_LONGEST_RULE = 64
"""EventBridge's limit (botocore 1.44.5, events RuleName)."""


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
        rule_name = _rule_name(endpoint_name)
        scaled = scaled_id(endpoint_name) if scales else ""
        self.function = PythonFunction(
            self,
            "Function",
            code=FunctionCode.of_package(
                "endpoint_reaper",
                timeout=time_to_live_facts().timeout_seconds,
                description="Deletes an endpoint of SageMaker when its time to live is over",
                policy_description="Lets the function that ends an endpoint delete it, and what belongs to it",
                role_description="Runs the function that ends an endpoint",
                unencrypted_log="it writes names and times only; `encryption_key` takes a key that CloudWatch Logs may "
                "use",
            ),
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
        allowed = reaper_permissions(
            Place.of(self),
            endpoint_name=endpoint_name,
            endpoint_arn=endpoint.ref,
            config_arn=endpoint_config.ref,
            model_arn=model.ref,
            rule_name=rule_name,
            scaled=scaled,
            topic=topic,
        )
        self.function.allow_statements([*map(statement_of, allowed)], wildcards=reasons_of(allowed))
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
        self.budget = spec.budget and CostBudget(
            self,
            "Budget",
            budget=spec.budget,
            filters=_filters(spec.budget, spec.name),
            topic=topic,
        )
        """What it may cost; `None` where there is no budget."""
