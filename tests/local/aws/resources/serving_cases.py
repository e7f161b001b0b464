"""The life cycles of the resources around a service: clusters, dashboards, filters, web ACLs, EventBridge rules."""

from typing import Any

from tests.local.aws.resources.cases import Case

SEEN = {"CloudWatchMetricsEnabled": True, "MetricName": "front", "SampledRequestsEnabled": True}
HIDDEN = {"Action": "SUBSTITUTION", "Field": {"FieldType": "BODY"}}
COMMON: dict[str, Any] = {
    "Name": "common",
    "Priority": 0,
    "OverrideAction": {"None": {}},
    "VisibilityConfig": SEEN,
    "Statement": {
        "ManagedRuleGroupStatement": {
            "VendorName": "AWS",
            "Name": "AWSManagedRulesCommonRuleSet",
            "RuleActionOverrides": [{"Name": "SizeRestrictions_BODY", "ActionToUse": {"Count": {}}}],
        }
    },
}
RATE: dict[str, Any] = {
    "Name": "rate",
    "Priority": 1,
    "Action": {"Block": {}},
    "VisibilityConfig": SEEN,
    "Statement": {"RateBasedStatement": {"Limit": 2000, "AggregateKeyType": "IP"}},
}


def cluster(client: Any, name: str) -> dict[str, Any]:
    """Return all of ECS's data about a cluster."""
    (found,) = client.describe_clusters(clusters=[name], include=["TAGS", "SETTINGS"])["clusters"]
    return found


def web_acl(client: Any, ref: str) -> dict[str, Any]:
    """Return all of WAF's data about a web ACL."""
    name, acl_id, scope = ref.split("|")
    return client.get_web_acl(Name=name, Id=acl_id, Scope=scope)["WebACL"]


SERVING_CASES = (
    Case(
        type="AWS::ECS::Cluster",
        service="ecs",
        properties={"ClusterSettings": [{"Name": "containerInsights", "Value": "enhanced"}]},
        reported=cluster,
        expected={
            "status": "ACTIVE",
            "settings": [{"name": "containerInsights", "value": "enhanced"}],
            "tags": [{"key": "fleet", "value": "test"}],
        },
        change={"ClusterSettings": [{"Name": "containerInsights", "Value": "disabled"}]},
        changed={"settings": [{"name": "containerInsights", "value": "disabled"}]},
    ),
    Case(
        type="AWS::CloudWatch::Dashboard",
        service="cloudwatch",
        properties={"DashboardName": "chat", "DashboardBody": '{"widgets": []}'},
        reported=lambda client, name: client.get_dashboard(DashboardName=name),
        expected={"DashboardBody": '{"widgets": []}'},
        change={"DashboardBody": '{"widgets": [{"type": "text", "properties": {}}]}'},
        changed={"DashboardBody": '{"widgets": [{"type": "text", "properties": {}}]}'},
    ),
    Case(
        type="AWS::WAFv2::WebACL",
        service="wafv2",
        properties={
            "Scope": "REGIONAL",
            "DefaultAction": {"Allow": {}},
            "VisibilityConfig": SEEN,
            "Rules": [COMMON, RATE],
            "DataProtectionConfig": {"DataProtections": [HIDDEN]},
        },
        reported=web_acl,
        expected={
            "DefaultAction": {"Allow": {}},
            "VisibilityConfig": SEEN,
            "Rules": [COMMON, RATE],
            "DataProtectionConfig": {"DataProtections": [HIDDEN]},
        },
        change={"Rules": [COMMON]},
        changed={"Rules": [COMMON]},
    ),
    Case(
        type="AWS::Events::Rule",
        service="events",
        properties={
            "Name": "stopped-tasks",
            "EventPattern": {"source": ["aws.ecs"]},
            "State": "ENABLED",
            "Targets": [{"Id": "log", "Arn": "arn:aws:logs:us-west-2:123456789012:log-group:chat"}],
        },
        reported=lambda client, name: (
            client.describe_rule(Name=name) | {"targets": client.list_targets_by_rule(Rule=name)["Targets"]}
        ),
        expected={
            "State": "ENABLED",
            "targets": [{"Id": "log", "Arn": "arn:aws:logs:us-west-2:123456789012:log-group:chat"}],
        },
        change={"Targets": []},
        changed={"targets": []},
    ),
    Case(
        type="AWS::Logs::ResourcePolicy",
        service="logs",
        properties={"PolicyName": "events", "PolicyDocument": '{"Version": "2012-10-17", "Statement": []}'},
        reported=lambda client, name: client.describe_resource_policies()["resourcePolicies"][0],
        expected={"policyName": "events", "policyDocument": '{"Version": "2012-10-17", "Statement": []}'},
        change={"PolicyDocument": '{"Version": "2012-10-17", "Statement": [{}]}'},
        changed={"policyDocument": '{"Version": "2012-10-17", "Statement": [{}]}'},
    ),
)
