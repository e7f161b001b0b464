"""Buckets for data, models and access logs."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Match, Template

from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.storage import BucketSpec
from llm_fleet.storage.buckets import AccessLogBucket, DataBucket, FleetKey

PRIVATE = {
    "PublicAccessBlockConfiguration": {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    },
    "VersioningConfiguration": {"Status": "Enabled"},
    "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
}


def test_properties_of_a_data_bucket(stack: cdk.Stack):
    DataBucket(stack, "Data")
    template = Template.from_stack(stack)
    template.has_resource(
        "AWS::S3::Bucket",
        {
            "DeletionPolicy": "RetainExceptOnCreate",
            "UpdateReplacePolicy": "Retain",
            "Properties": {
                **PRIVATE,
                "BucketName": Match.absent(),
                "BucketEncryption": {
                    "ServerSideEncryptionConfiguration": [
                        {
                            "BucketKeyEnabled": True,
                            "ServerSideEncryptionByDefault": {
                                "SSEAlgorithm": "aws:kms",
                                "KMSMasterKeyID": Match.any_value(),
                            },
                        }
                    ]
                },
                "LifecycleConfiguration": {
                    "Rules": [
                        {
                            "Id": "TidyUp",
                            "Status": "Enabled",
                            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
                            "NoncurrentVersionExpiration": {"NoncurrentDays": 30},
                            "ExpiredObjectDeleteMarker": True,
                        }
                    ]
                },
                "LoggingConfiguration": Match.absent(),
                "NotificationConfiguration": Match.absent(),
            },
        },
    )
    template.has_resource("AWS::KMS::Key", {"DeletionPolicy": "Retain", "Properties": {"EnableKeyRotation": True}})
    template.resource_count_is("Custom::S3BucketNotifications", 0)


@pytest.mark.parametrize("make", [DataBucket, AccessLogBucket])
def test_a_bucket_denies_access_without_tls(stack: cdk.Stack, make: Any):
    make(stack, "Bucket")
    Template.from_stack(stack).has_resource_properties(
        "AWS::S3::BucketPolicy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [
                        Match.object_like(
                            {
                                "Effect": "Deny",
                                "Action": "s3:*",
                                "Principal": {"AWS": "*"},
                                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                            }
                        ),
                        Match.object_like({"Effect": "Deny", "Condition": {"NumericLessThan": {"s3:TlsVersion": 1.2}}}),
                    ]
                )
            }
        },
    )


def test_access_logs_are_written_to_the_given_bucket(stack: cdk.Stack):
    access_logs = AccessLogBucket(stack, "AccessLogs")
    DataBucket(stack, "Data", access_log_bucket=access_logs)
    template = Template.from_stack(stack)
    resource = access_logs.node.default_child
    assert isinstance(resource, cdk.CfnResource)
    template.has_resource_properties(
        "AWS::S3::Bucket",
        {
            "LoggingConfiguration": {
                "DestinationBucketName": {"Ref": stack.get_logical_id(resource)},
                "LogFilePrefix": "Data/",
            }
        },
    )
    template.has_resource(
        "AWS::S3::Bucket",
        {
            "DeletionPolicy": "RetainExceptOnCreate",
            "Properties": {
                **PRIVATE,
                "BucketEncryption": {
                    "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
                },
                "LifecycleConfiguration": {"Rules": [Match.object_like({"ExpirationInDays": 365})]},
            },
        },
    )


def test_events_are_sent_to_event_bridge_without_a_function(stack: cdk.Stack):
    DataBucket(stack, "Data", BucketSpec(event_bridge_enabled=True))
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::S3::Bucket",
        {"NotificationConfiguration": {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}},
    )
    template.resource_count_is("AWS::Lambda::Function", 0)


def test_a_custom_key_and_name(stack: cdk.Stack):
    key = FleetKey(stack, "Key")
    DataBucket(stack, "Data", BucketSpec(bucket_name="corpus", encryption_key=key, noncurrent_version_days=1))
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::KMS::Key", 1)
    template.has_resource_properties("AWS::S3::Bucket", {"BucketName": "corpus"})


def test_errors_are_reported_before_anything_is_created(stack: cdk.Stack):
    with pytest.raises(FleetError) as caught:
        DataBucket(stack, "Data", BucketSpec(bucket_name="My_Bucket", noncurrent_version_days=0))
    assert {p.code for p in caught.value.problems} == {Code.BUCKET_NAME, Code.BUCKET_LIFECYCLE}
    assert stack.node.try_find_child("Data") is None
    with pytest.raises(FleetError):
        AccessLogBucket(stack, "Logs", bucket_name="ab")


def test_access_is_logged_in_an_app_without_feature_flags() -> None:
    stack = cdk.Stack(cdk.App(), "Bare")
    logs = AccessLogBucket(stack, "Logs")
    DataBucket(stack, "Data", access_log_bucket=logs)
    LifecycleBucket(stack, "Scripts", name_part="demo", access_log_bucket=logs)
    template = Template.from_stack(stack)
    logged = template.find_resources("AWS::S3::Bucket", {"Properties": {"LoggingConfiguration": Match.any_value()}})
    prefixes = {bucket["Properties"]["LoggingConfiguration"]["LogFilePrefix"] for bucket in logged.values()}
    assert prefixes == {"Data/", "lifecycle-bucket/"}
    assert str(template.to_json()).count("logging.s3.amazonaws.com") == 2
    assert "LogDeliveryWrite" not in str(template.to_json())


def test_a_fleet_key_rotates_and_is_retained(stack: cdk.Stack):
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


def test_a_fleet_key_requires_no_alias(stack: cdk.Stack):
    FleetKey(stack, "Key", pending_window=cdk.Duration.days(7))
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::KMS::Alias", 0)
    template.has_resource_properties("AWS::KMS::Key", {"PendingWindowInDays": 7})


def test_cloudwatch_logs_can_use_a_fleet_key_only_for_log_groups_of_this_account_and_region(stack: cdk.Stack):
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
