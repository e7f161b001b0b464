"""Ends an endpoint when its time has come."""

import hashlib
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

import llm_fleet.functions
from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.endpoint_operations import time_to_live_facts
from llm_fleet.lifecycle.python_function import FunctionCode, PythonFunction
from llm_fleet.lifecycle.script_folder import read_folder
from llm_fleet.notifications.metric_alarms import MetricAlarms
from llm_fleet.sagemaker.endpoint.endpoint_alarm_plans import time_to_live_plan
from llm_fleet.sagemaker.endpoint.endpoint_scaler import scaled_id
from llm_fleet.sagemaker.endpoint.endpoint_time_to_live import EndpointTimeToLive
from llm_fleet.sagemaker.endpoint.operations import EndpointOperations
from llm_fleet.sagemaker.endpoint.reaper_statements import ReaperStatements

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
        time_to_live: EndpointTimeToLive,
        operations: EndpointOperations,
        endpoint_name: str,
        variant_name: str,
        endpoint: sagemaker.CfnEndpoint,
        endpoint_config: sagemaker.CfnEndpointConfig,
        model: sagemaker.CfnModel,
    ) -> None:
        """Make them; they come after `endpoint`, so that one which is still being made is not taken for gone."""
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        rule_name = _rule_name(endpoint_name)
        scaled = scaled_id(endpoint_name, variant_name) if operations.scaling else ""
        topic = operations.alarm_topic
        self.function = PythonFunction(
            self,
            "Function",
            code=_CODE,
            environment={
                "ENDPOINT_NAME": endpoint_name,
                "CONFIG_NAME": endpoint_config.attr_endpoint_config_name,
                "MODEL_NAME": model.attr_model_name,
                "TTL_SECONDS": str(time_to_live.total_seconds),
                "RULE_NAME": rule_name,
                **({"SCALED": scaled} if scaled else {}),
                **({"TOPIC_ARN": topic.topic_arn} if topic else {}),
            },
            log_encryption_key=operations.encryption_key,
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
