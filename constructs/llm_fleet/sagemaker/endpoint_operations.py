"""Operations of an endpoint: scaling, time to live and budget."""

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
    """Return Application Auto Scaling's resource id of the endpoint's variant."""
    return f"endpoint/{endpoint_name}/variant/{endpoint_settings().variant}"


class EndpointScaler(Construct):
    """Target tracking on an endpoint's variant.

    Application Auto Scaling uses its service-linked role, which it creates itself. The scalable target is deleted with
    the endpoint, so a role that deletes the endpoint must be allowed to deregister the target.
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
        """Scale `endpoint` as set in `spec`."""
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
            # The function that deletes the endpoint can deregister only a target with this tag.
            tags=[cdk.CfnTag(key=budget_facts().tag, value=endpoint_name)],
        )
        """The L1 construct of the scalable target."""
        self.target.add_resource_dependency(endpoint)
        self.policy = _Policy(
            self,
            "Policy",
            policy_name=f"{endpoint_name}-load",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self.target.ref,
            target_tracking_scaling_policy_configuration=_configuration(scaling),
        )
        """The L1 construct of the scaling policy."""


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
    """Return the permissions of the function that deletes one endpoint.

    The ARNs are as SageMaker writes them: with names in lowercase. `scaled`: Application Auto Scaling's resource id of
    the variant; empty without scaling.
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
                reason="it checks whether this exists, and deletes it",
            )
            for sid, (kind, arn) in hosting.items()
        ),
        Permission(
            sid="Mark",
            actions=("sagemaker:AddTags", "sagemaker:ListTags"),
            resources=(config_arn, model_arn),
            reason="it deletes only a configuration or model that it has tagged before",
        ),
        Permission(
            sid="RunNoMore",
            actions=("events:DisableRule",),
            resources=(place.arn("events", f"rule/{rule_name}"),),
            reason="it disables its rule when everything is deleted",
        ),
        *(_stop_scaling(place, endpoint_name, scaled) if scaled else ()),
        *(_publish(place, topic) if topic else ()),
    ]


def _stop_scaling(place: Place, endpoint_name: str, scaled: str) -> tuple[Permission, ...]:
    """DeleteEndpoint on a scaled endpoint requires permission to deregister its target (SageMaker's guide)."""
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
            reason="AWS generates ids of scalable targets; the condition limits it to its own by tag",
        ),
        # The guide requires this of the caller that deletes a target tracking policy, in addition to the service role.
        # assumption: scaling-policy-delete-by-caller
        Permission(
            sid="PolicyAlarms",
            actions=("cloudwatch:DeleteAlarms",),
            resources=(place.arn("cloudwatch", f"alarm:TargetTracking-{scaled}-*"),),
            reason="Application Auto Scaling generates the suffixes of these names",
        ),
    )


def _publish(place: Place, topic: sns.ITopic) -> tuple[Permission, ...]:
    known = topic.master_key
    context = {"StringEquals": {"kms:EncryptionContext:aws:sns:topicArn": topic.topic_arn}}
    return (
        Permission(
            sid="Notify", actions=("sns:Publish",), resources=(topic.topic_arn,), reason="it publishes the deletion"
        ),
        Permission(
            sid="TellKey",
            actions=("kms:Decrypt", "kms:GenerateDataKey"),
            resources=(known.key_arn if known else place.arn("kms", "key/*"),),
            conditions={} if known else context,
            reason="the topic is encrypted"
            if known
            else "the key of an existing topic is unknown; the condition limits it to that topic",
        ),
    )


_LONGEST_RULE = 64
"""EventBridge's limit (botocore 1.44.5, events RuleName)."""


class EndpointReaper(Construct):
    """A Lambda function that deletes an endpoint after its time to live, and a rule that runs it every 15 minutes.

    It deletes the endpoint, its configuration, its model and its scaling, and has no permission for anything else.
    Each run checks which of them exist, so failed and repeated runs are harmless. When all are deleted, it publishes
    to the topic and disables its rule.
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
        """The rule depends on `endpoint`, so that the function does not take one in creation for a deleted one."""
        super().__init__(scope, id)
        rule_name = _rule_name(endpoint_name)
        scaled = scaled_id(endpoint_name) if scales else ""
        self.function = PythonFunction(
            self,
            "Function",
            code=FunctionCode.of_package(
                "endpoint_reaper",
                timeout=time_to_live_facts().timeout_seconds,
                description="Deletes a SageMaker endpoint after its time to live",
                policy_description="Lets the function delete the endpoint and its resources after the time to live",
                role_description="Role of the function that deletes an endpoint after its time to live",
                unencrypted_log="it has only names and times; set `encryption_key` to a key that CloudWatch Logs can "
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
        """The function with its role and log group."""
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
        """The rule that runs the function."""
        plan = time_to_live_plan(self.function.function.ref)
        self.alarms = MetricAlarms(self, "Alarms", plans=[plan], name_prefix=endpoint_name, topic=topic).alarms
        """The alarm `TimeToLive` on repeated failures of the function."""
        acknowledge(
            self,
            "it runs every 15 minutes, and the next run completes what a failed one missed",
            "NIST.800.53.R5-LambdaConcurrency",
            "NIST.800.53.R5-LambdaDLQ",
        )

    def _make_rule(self, name: str, endpoint: sagemaker.CfnEndpoint) -> events.CfnRule:
        function = self.function.function
        rule = events.CfnRule(
            self,
            "Rule",
            name=name,
            description="Checks whether the endpoint's time to live is over",
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
    """A filter by a cost allocation tag that is not activated matches nothing, so the default is all of SageMaker."""
    facts = budget_facts()
    service = {"Service": [facts.service]}
    if not budget.tagged_only:
        return service
    return {**service, "TagKeyValue": [f"user:{facts.tag}${endpoint_name}"]}


class EndpointAfterwards(Construct):
    """Scaling, time to live and budget of an endpoint, if set."""

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
        """Create the operations of `spec` for `endpoint`, and tag its resources for a budget.

        `encryption_key`: encrypts the log of the function that deletes it. `None`: CloudWatch's own encryption.
        """
        super().__init__(scope, id)
        assert spec.name is not None
        for part in (endpoint, endpoint_config, model):
            cdk.Tags.of(part).add(budget_facts().tag, spec.name)
        self.scaler = spec.scaling and EndpointScaler(
            self, "Scaling", spec=spec, scaling=spec.scaling, endpoint_name=spec.name, endpoint=endpoint
        )
        """Scaling; `None` for a fixed number of instances."""
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
        """The function that deletes it; `None` without a time to live."""
        self.budget = spec.budget and CostBudget(
            self,
            "Budget",
            budget=spec.budget,
            filters=_filters(spec.budget, spec.name),
            topic=topic,
        )
        """The budget; `None` without one."""
