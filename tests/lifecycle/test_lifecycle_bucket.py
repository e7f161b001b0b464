"""The bucket of bundles."""

import re
from typing import cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from llm_fleet.lifecycle.lifecycle_bundle import LifecycleBucket
from llm_fleet.rules.bundle import bucket_name
from llm_fleet.rules.problem import FleetError


def _name(stack: cdk.Stack) -> str:
    """Return the bucket's name for a stack whose GUID begins with 0a1b2c3d."""
    (bucket,) = Template.from_stack(stack).find_resources("AWS::S3::Bucket").values()
    delimiter, parts = bucket["Properties"]["BucketName"]["Fn::Join"]
    guid = {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}
    first = {"Fn::Select": [0, {"Fn::Split": ["-", guid]}]}
    return delimiter.join("0a1b2c3d" if part == first else part for part in parts)


def test_the_name_begins_as_hyperpod_requires_and_ends_with_the_stack_guid(stack: cdk.Stack) -> None:
    LifecycleBucket(stack, "Bucket", name_part="demo")
    assert _name(stack) == "sagemaker-demo-0a1b2c3d"


def test_a_long_name_is_shortened_with_a_hash_and_stays_unique(app: cdk.App) -> None:
    stacks = [cdk.Stack(app, f"Long{number}") for number in (1, 2)]
    for number, stack in enumerate(stacks):
        LifecycleBucket(stack, "Bucket", name_part="a" * 60 + str(number))
    names = {_name(stack) for stack in stacks}
    assert len(names) == 2
    for name in names:
        assert re.fullmatch(r"sagemaker-a{37}-[0-9a-f]{6}-0a1b2c3d", name)
        assert len(name) == 63
        assert bucket_name(name) == []


def test_a_name_that_s3_rejects_is_reported_before_anything_is_created(stack: cdk.Stack) -> None:
    with pytest.raises(FleetError, match="LF402") as caught:
        LifecycleBucket(stack, "Bucket", name_part="My_Fleet")
    assert caught.value.problems[0].path == ("name_part",)
    Template.from_stack(stack).resource_count_is("AWS::S3::Bucket", 0)


def test_it_is_private_versioned_encrypted_and_retained(stack: cdk.Stack) -> None:
    LifecycleBucket(stack, "Bucket", name_part="demo")
    template = Template.from_stack(stack)
    template.has_resource("AWS::S3::Bucket", {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"})
    block = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    template.has_resource_properties(
        "AWS::S3::Bucket",
        {
            "PublicAccessBlockConfiguration": dict.fromkeys(block, True),
            "VersioningConfiguration": {"Status": "Enabled"},
            "BucketEncryption": {
                "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
            },
        },
    )


def test_a_key_and_a_log_bucket_are_used(stack: cdk.Stack) -> None:
    key = cast(kms.IKey, kms.Key(stack, "Key"))
    logs = s3.Bucket.from_bucket_name(stack, "Logs", "logs")
    LifecycleBucket(stack, "Bucket", name_part="demo", encryption_key=key, access_log_bucket=logs)
    (bucket,) = Template.from_stack(stack).find_resources("AWS::S3::Bucket").values()
    (rule,) = bucket["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["BucketKeyEnabled"] is True
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    assert bucket["Properties"]["LoggingConfiguration"]["DestinationBucketName"] == "logs"
