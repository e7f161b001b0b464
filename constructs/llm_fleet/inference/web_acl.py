"""AWS WAF in front of a service."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.service import ManagedRuleGroup, front_facts

_LOG_PREFIX = "aws-waf-logs-"
"""What AWS WAF demands of the name."""
_SECRET_HEADERS = ("authorization", "x-api-key")


class WebAcl(Construct):
    """Lets requests through unless an address sends too many, or AWS's managed rules know them for attacks.

    A prompt is free text: it may quote a script, a path, an address or an exploit, and be longer than the 8 KB that WAF
    sees of it. So every managed rule about the body only counts; those about paths, queries and headers block.

    What is blocked goes to a log group that is retained. Keys and tokens are taken out of logs and samples.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service_name: str,
        load_balancer_arn: str,
        requests_per_five_minutes: int,
        retention_days: int,
        encryption_key: kms.IKey | None,
    ) -> None:
        """Make it for the load balancer.

        - `requests_per_five_minutes`: of one address; more get 403 until it sends fewer.
        - `retention_days`: how long what was blocked is kept.
        - `encryption_key`: of the log group; its policy must let CloudWatch Logs use it.
        """
        super().__init__(scope, id)
        rules = [self._rate_rule(requests_per_five_minutes)]
        rules += [_managed(group, len(rules) + index) for index, group in enumerate(front_facts().managed_rule_groups)]
        self.resource = wafv2.CfnWebACL(
            self,
            "Resource",
            scope="REGIONAL",
            description=f"Front of the inference service {service_name}",
            default_action=wafv2.CfnWebACL.DefaultActionProperty(allow=wafv2.CfnWebACL.AllowActionProperty()),
            rules=rules,
            data_protection_config=wafv2.CfnWebACL.DataProtectionConfigProperty(
                data_protections=[
                    wafv2.CfnWebACL.DataProtectProperty(
                        action="SUBSTITUTION",
                        field=wafv2.CfnWebACL.FieldToProtectProperty(
                            field_type="SINGLE_HEADER", field_keys=list(_SECRET_HEADERS)
                        ),
                    )
                ]
            ),
            visibility_config=_visibility("WebAcl"),
        )
        """The L1 beneath."""
        self.association = wafv2.CfnWebACLAssociation(
            self, "Association", resource_arn=load_balancer_arn, web_acl_arn=self.resource.attr_arn
        )
        """Nothing gets past it once this is there."""
        self._log(service_name, retention_days, encryption_key)

    def _rate_rule(self, limit: int) -> wafv2.CfnWebACL.RuleProperty:
        return wafv2.CfnWebACL.RuleProperty(
            name="RequestsPerAddress",
            priority=0,
            action=wafv2.CfnWebACL.RuleActionProperty(block=wafv2.CfnWebACL.BlockActionProperty()),
            statement=wafv2.CfnWebACL.StatementProperty(
                rate_based_statement=wafv2.CfnWebACL.RateBasedStatementProperty(
                    aggregate_key_type="IP",
                    limit=limit,
                    evaluation_window_sec=front_facts().rate_window_seconds,
                )
            ),
            visibility_config=_visibility("RequestsPerAddress"),
        )

    def _log(self, service_name: str, retention_days: int, encryption_key: kms.IKey | None) -> None:
        stack = cdk.Stack.of(self)
        # Of the stack's own id: the name is told, and the log group of an earlier stack is still there.
        unique = cdk.Fn.select(0, cdk.Fn.split("-", cdk.Fn.select(2, cdk.Fn.split("/", stack.stack_id))))
        self.log_group = logs.CfnLogGroup(
            self,
            "LogGroup",
            log_group_name=f"{_LOG_PREFIX}{service_name}-{unique}",
            retention_in_days=retention_days,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
        )
        """What was blocked."""
        self.log_group.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        if encryption_key is None:
            acknowledge(
                self.log_group,
                "CloudWatch Logs encrypts every log group with a key of its own; keys, tokens and prompts are not in "
                "it. `encryption_key` takes another",
                "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
            )
        self.logging = wafv2.CfnLoggingConfiguration(
            self,
            "Logging",
            resource_arn=self.resource.attr_arn,
            log_destination_configs=[
                # The attribute of the log group ends in `:*`, which WAF refuses.
                stack.format_arn(
                    service="logs",
                    resource="log-group",
                    resource_name=self.log_group.ref,
                    arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
                )
            ],
            redacted_fields=[
                wafv2.CfnLoggingConfiguration.FieldToMatchProperty(single_header={"Name": header})
                for header in _SECRET_HEADERS
            ],
            logging_filter={
                "DefaultBehavior": "DROP",
                "Filters": [
                    {
                        "Behavior": "KEEP",
                        "Requirement": "MEETS_ANY",
                        "Conditions": [{"ActionCondition": {"Action": "BLOCK"}}],
                    }
                ],
            },
        )


def _managed(group: ManagedRuleGroup, priority: int) -> wafv2.CfnWebACL.RuleProperty:
    count = wafv2.CfnWebACL.RuleActionProperty(count=wafv2.CfnWebACL.CountActionProperty())
    return wafv2.CfnWebACL.RuleProperty(
        name=group.name,
        priority=priority,
        override_action=wafv2.CfnWebACL.OverrideActionProperty(none={}),
        statement=wafv2.CfnWebACL.StatementProperty(
            managed_rule_group_statement=wafv2.CfnWebACL.ManagedRuleGroupStatementProperty(
                vendor_name="AWS",
                name=group.name,
                rule_action_overrides=[
                    wafv2.CfnWebACL.RuleActionOverrideProperty(name=rule, action_to_use=count) for rule in group.counted
                ]
                or None,
            )
        ),
        visibility_config=_visibility(group.name),
    )


def _visibility(name: str) -> wafv2.CfnWebACL.VisibilityConfigProperty:
    return wafv2.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=True
    )
