"""Keeps why tasks stopped, which ECS itself forgets after an hour."""

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_logs as logs
from constructs import Construct

_PRINCIPALS = ["events.amazonaws.com", "delivery.logs.amazonaws.com"]
"""Who writes events into log groups (docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html)."""


class TaskEvents(Construct):
    """Writes each stopped task of a service into a log group: its stop code, its reason, its containers' exit codes.

    EventBridge writes there by a resource policy of CloudWatch Logs, of which a region has ten in an account.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_arn: str,
        service_name: str,
        log_group: logs.CfnLogGroup,
    ) -> None:
        """Record the tasks of `service_name` in the cluster at `cluster_arn` to `log_group`."""
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        log_group_arn = stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=log_group.ref,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        self.rule = events.CfnRule(
            self,
            "Rule",
            description=f"Stopped tasks of {service_name}",
            event_pattern={
                "source": ["aws.ecs"],
                "detail-type": ["ECS Task State Change"],
                "detail": {
                    "clusterArn": [cluster_arn],
                    "group": [f"service:{service_name}"],
                    "lastStatus": ["STOPPED"],
                },
            },
            targets=[events.CfnRule.TargetProperty(id="LogGroup", arn=log_group_arn)],
        )
        """The L1 of the rule."""
        self.policy = logs.CfnResourcePolicy(
            self,
            "Policy",
            policy_name=f"llm-fleet-{service_name}-task-events",
            policy_document=stack.to_json_string(_policy(f"{log_group_arn}:*", rule_arn=self.rule.attr_arn)),
        )
        """The L1 of the policy that lets EventBridge write."""


def _policy(streams: str, *, rule_arn: str) -> dict[str, object]:
    """Creating a stream carries no source, so only writing is bound to the rule, as EventBridge's guide has it."""
    who = {"Effect": "Allow", "Principal": {"Service": _PRINCIPALS}, "Resource": streams}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "MakeStreams", **who, "Action": "logs:CreateLogStream"},
            {
                "Sid": "WriteEvents",
                **who,
                "Action": "logs:PutLogEvents",
                "Condition": {"ArnEquals": {"aws:SourceArn": rule_arn}},
            },
        ],
    }
