"""The KMS key of a fleet."""

import aws_cdk as cdk
from aws_cdk.assertions import Match, Template

from llm_fleet.storage.fleet_key import FleetKey


def test_it_rotates_and_is_retained(stack: cdk.Stack):
    FleetKey(stack, "Key", alias="alias/fleet")
    template = Template.from_stack(stack)
    template.has_resource(
        "AWS::KMS::Key",
        {
            "DeletionPolicy": "RetainExceptOnCreate",
            "UpdateReplacePolicy": "Retain",
            "Properties": {"EnableKeyRotation": True, "PendingWindowInDays": 30},
        },
    )
    template.has_resource_properties("AWS::KMS::Alias", {"AliasName": "alias/fleet"})


def test_it_needs_no_alias(stack: cdk.Stack):
    FleetKey(stack, "Key", pending_window=cdk.Duration.days(7))
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::KMS::Alias", 0)
    template.has_resource_properties("AWS::KMS::Key", {"PendingWindowInDays": 7})


def test_cloudwatch_logs_may_use_it_for_log_groups_here_only(stack: cdk.Stack):
    FleetKey(stack, "Key")
    statements = Match.array_with(
        [
            {
                "Sid": "CloudWatchLogsOfThisAccountAndRegion",
                "Effect": "Allow",
                "Principal": {"Service": {"Fn::Join": ["", ["logs.us-west-2.", {"Ref": "AWS::URLSuffix"}]]}},
                "Action": ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
                "Resource": "*",
                "Condition": {
                    "ArnLike": {"kms:EncryptionContext:aws:logs:arn": "arn:aws:logs:us-west-2:111122223333:log-group:*"}
                },
            }
        ]
    )
    Template.from_stack(stack).has_resource_properties("AWS::KMS::Key", {"KeyPolicy": {"Statement": statements}})
