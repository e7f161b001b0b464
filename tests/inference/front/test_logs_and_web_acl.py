"""What fronts write down, and what AWS WAF does before them."""

import json
from typing import Any

from tests.inference.front.conftest import Fronts

BODY_RULES = {
    "SizeRestrictions_BODY",
    "CrossSiteScripting_BODY",
    "GenericLFI_BODY",
    "GenericRFI_BODY",
    "EC2MetaDataSSRF_BODY",
    "Log4JRCE_BODY",
    "JavaDeserializationRCE_BODY",
    "ReactJSRCE_BODY",
}


def rules(fronts: Fronts, front: str = "Plain") -> dict[str, Any]:
    return {rule["Name"]: rule for rule in fronts.only(front, "WebACL")["Rules"]}


def test_access_and_connections_are_logged_below_one_prefix(fronts: Fronts) -> None:
    told = {each["Key"]: each["Value"] for each in fronts.only("Plain", "LoadBalancer")["LoadBalancerAttributes"]}
    bucket = {"Ref": fronts.id_of("Plain", "Bucket")}
    for kind in ("access_logs", "connection_logs"):
        assert told[f"{kind}.s3.enabled"] == "true"
        assert told[f"{kind}.s3.bucket"] == bucket
        assert told[f"{kind}.s3.prefix"] == "load-balancer/plain"


def test_elastic_load_balancing_may_write_its_logs_and_nothing_else(fronts: Fronts) -> None:
    (encryption,) = fronts.only("Plain", "Bucket")["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    allowed = [
        statement
        for statement in fronts.only("Plain", "BucketPolicy")["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    (statement,) = allowed
    assert statement["Action"] == "s3:PutObject"
    assert statement["Principal"] == {"Service": "logdelivery.elasticloadbalancing.amazonaws.com"}
    assert json.dumps(statement["Resource"]).endswith('"/load-balancer/plain/AWSLogs/111122223333/*"]]}')


def test_the_load_balancer_waits_until_it_may_log_and_has_a_way_out(fronts: Fronts) -> None:
    after = fronts.resources[fronts.id_of("Plain", "LoadBalancer")]["DependsOn"]
    assert fronts.id_of("Plain", "BucketPolicy") in after
    assert any(name.startswith("NetworkInternetDefaultRoute") for name in after)


def test_logs_stay_when_the_stack_goes(fronts: Fronts) -> None:
    for type in ("Bucket", "LogGroup"):
        assert fronts.resources[fronts.id_of("Plain", type)]["DeletionPolicy"] == "RetainExceptOnCreate"
    assert fronts.resources[fronts.id_of("Plain", "Secret")]["DeletionPolicy"] == "Delete"


def test_waf_stands_before_the_load_balancer(fronts: Fronts) -> None:
    association = fronts.only("Plain", "WebACLAssociation")
    assert association["ResourceArn"] == {"Ref": fronts.id_of("Plain", "LoadBalancer")}
    assert association["WebACLArn"] == {"Fn::GetAtt": [fronts.id_of("Plain", "WebACL"), "Arn"]}
    assert fronts.only("Plain", "WebACL")["Scope"] == "REGIONAL"


def test_an_address_that_asks_too_often_is_blocked(fronts: Fronts) -> None:
    for front, limit in (("Plain", 3000), ("Tokens", 500)):
        rule = rules(fronts, front)["RequestsPerAddress"]
        assert rule["Action"] == {"Block": {}}
        assert rule["Statement"]["RateBasedStatement"] == {
            "AggregateKeyType": "IP",
            "EvaluationWindowSec": 300,
            "Limit": limit,
        }


def test_prompts_are_not_taken_for_attacks(fronts: Fronts) -> None:
    managed = [rule for name, rule in rules(fronts).items() if name.startswith("AWSManagedRules")]
    assert len(managed) == 3
    assert all(rule["OverrideAction"] == {"None": {}} for rule in managed)
    overrides = [
        override
        for rule in managed
        for override in rule["Statement"]["ManagedRuleGroupStatement"].get("RuleActionOverrides", [])
    ]
    assert {override["Name"] for override in overrides} == BODY_RULES
    assert all(override["ActionToUse"] == {"Count": {}} for override in overrides)


def test_rules_have_priorities_of_their_own(fronts: Fronts) -> None:
    assert sorted(rule["Priority"] for rule in rules(fronts).values()) == [0, 1, 2, 3]


def test_keys_and_tokens_are_in_no_log_and_no_sample(fronts: Fronts) -> None:
    redacted = [
        field["SingleHeader"]["Name"] for field in fronts.only("Plain", "LoggingConfiguration")["RedactedFields"]
    ]
    (protection,) = fronts.only("Plain", "WebACL")["DataProtectionConfig"]["DataProtections"]
    assert "authorization" in redacted
    assert protection["Field"] == {"FieldType": "SINGLE_HEADER", "FieldKeys": redacted}


def test_what_is_blocked_is_logged_under_a_name_that_waf_takes(fronts: Fronts) -> None:
    logging = fronts.only("Plain", "LoggingConfiguration")
    name = fronts.only("Plain", "LogGroup")["LogGroupName"]["Fn::Join"][1][0]
    assert name == "aws-waf-logs-plain-"
    (destination,) = logging["LogDestinationConfigs"]
    assert destination["Fn::Join"][1][-1] == {"Ref": fronts.id_of("Plain", "LogGroup")}
    assert logging["LoggingFilter"]["DefaultBehavior"] == "DROP"
    (kept,) = logging["LoggingFilter"]["Filters"]
    assert kept["Conditions"] == [{"ActionCondition": {"Action": "BLOCK"}}]
