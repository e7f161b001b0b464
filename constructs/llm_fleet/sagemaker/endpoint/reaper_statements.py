"""What the function that ends an endpoint may do."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns

from llm_fleet.catalog.endpoint_operations import budget_facts, endpoint_scaling_facts


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
