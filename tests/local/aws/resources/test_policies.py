"""Policies with several attachments, bucket policies that are applied, and related types."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.s3.models import s3_backends

from llm_fleet_local.aws.resource_provider import Level
from tests.local.aws.resources.cases import READ, WRITE
from tests.local.aws.resources.support import ACCOUNT, Deployer, trust


def test_an_inline_policy_moves_with_its_roles(deployer: Deployer) -> None:
    iam = deployer.client("iam")
    for name in ("One", "Two"):
        deployer.create("AWS::IAM::Role", RoleName=name, AssumeRolePolicyDocument=trust("ec2.amazonaws.com"))
    old: dict[str, Any] = {"PolicyName": "Read", "PolicyDocument": READ, "Roles": ["One"]}
    created = deployer.create("AWS::IAM::Policy", **old)
    new = old | {"PolicyDocument": WRITE, "Roles": ["Two"]}
    deployer.update("AWS::IAM::Policy", created, old, new)
    assert iam.list_role_policies(RoleName="One")["PolicyNames"] == []
    assert iam.get_role_policy(RoleName="Two", PolicyName="Read")["PolicyDocument"] == WRITE
    changed = new | {"PolicyDocument": READ}
    deployer.update("AWS::IAM::Policy", created, new, changed)
    assert iam.get_role_policy(RoleName="Two", PolicyName="Read")["PolicyDocument"] == READ
    deployer.delete("AWS::IAM::Policy", created, **changed)
    assert iam.list_role_policies(RoleName="Two")["PolicyNames"] == []


def test_an_instance_profile_has_its_role(deployer: Deployer) -> None:
    deployer.create("AWS::IAM::Role", RoleName="Node", AssumeRolePolicyDocument=trust("ec2.amazonaws.com"))
    created = deployer.create("AWS::IAM::InstanceProfile", Roles=["Node"])
    found = deployer.client("iam").get_instance_profile(InstanceProfileName=created.physical_id)["InstanceProfile"]
    assert [role["RoleName"] for role in found["Roles"]] == ["Node"]
    deployer.delete("AWS::IAM::InstanceProfile", created, Roles=["Node"])
    assert not deployer.provider.exists("AWS::IAM::InstanceProfile", created.physical_id)


def statement(effect: str, action: str, **more: Any) -> dict[str, Any]:
    return {"Effect": effect, "Principal": "*", "Action": action, "Resource": "arn:aws:s3:::store/*", **more}


def test_deny_without_tls_allows_loopback_and_other_denials_apply(deployer: Deployer) -> None:
    s3 = deployer.client("s3")
    deployer.create("AWS::S3::Bucket", BucketName="store")
    tls = statement("Deny", "s3:*", Condition={"Bool": {"aws:SecureTransport": "false"}})
    old: dict[str, Any] = {"Bucket": "store", "PolicyDocument": {"Version": "2012-10-17", "Statement": [tls]}}
    created = deployer.create("AWS::S3::BucketPolicy", **old)
    s3.put_object(Bucket="store", Key="a", Body=b"x")
    new = {
        "Bucket": "store",
        "PolicyDocument": {"Version": "2012-10-17", "Statement": [tls, statement("Deny", "s3:PutObject")]},
    }
    deployer.update("AWS::S3::BucketPolicy", created, old, new)
    with pytest.raises(ClientError, match=r"403|AccessDenied|Forbidden"):
        s3.put_object(Bucket="store", Key="b", Body=b"x")
    assert "SecureTransport" in s3.get_bucket_policy(Bucket="store")["Policy"]
    deployer.delete("AWS::S3::BucketPolicy", created, **new)
    assert not deployer.provider.exists("AWS::S3::BucketPolicy", "store")


def test_bucket_logs_and_events_go_to_their_targets(deployer: Deployer) -> None:
    s3 = deployer.client("s3")
    ownership = {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}
    deployer.create("AWS::S3::Bucket", BucketName="logs", AccessControl="LogDeliveryWrite", OwnershipControls=ownership)
    deployer.create(
        "AWS::S3::Bucket",
        BucketName="data",
        LoggingConfiguration={"DestinationBucketName": "logs", "LogFilePrefix": "data/"},
        NotificationConfiguration={"EventBridgeConfiguration": {"EventBridgeEnabled": True}},
    )
    logging = s3.get_bucket_logging(Bucket="data")["LoggingEnabled"]
    assert (logging["TargetBucket"], logging["TargetPrefix"]) == ("logs", "data/")
    kept = s3_backends[ACCOUNT]["aws"].buckets["data"].notification_configuration  # moto does not return it
    assert kept
    assert kept.event_bridge is not None


def test_a_log_bucket_is_accepted_before_its_policy_allows_the_source(deployer: Deployer) -> None:
    s3 = deployer.client("s3")
    owned = {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    deployer.create("AWS::S3::Bucket", BucketName="logs", OwnershipControls=owned)
    allowed = {
        "Effect": "Allow",
        "Principal": {"Service": "logging.s3.amazonaws.com"},
        "Action": "s3:PutObject",
        "Resource": "arn:aws:s3:::logs/first/*",
        "Condition": {"ArnLike": {"aws:SourceArn": "arn:aws:s3:::first"}},
    }
    document = {"Version": "2012-10-17", "Statement": [allowed]}
    deployer.create("AWS::S3::BucketPolicy", Bucket="logs", PolicyDocument=document)
    target = {"DestinationBucketName": "logs", "LogFilePrefix": "second/"}
    deployer.create("AWS::S3::Bucket", BucketName="second", LoggingConfiguration=target)
    assert s3.get_bucket_logging(Bucket="second")["LoggingEnabled"]["TargetBucket"] == "logs"


def test_an_alias_follows_its_key(deployer: Deployer) -> None:
    document: dict[str, Any] = {"Version": "2012-10-17", "Statement": []}
    keys = [deployer.create("AWS::KMS::Key", KeyPolicy=document).physical_id for _ in range(2)]
    old = {"AliasName": "alias/fleet", "TargetKeyId": keys[0]}
    created = deployer.create("AWS::KMS::Alias", **old)
    deployer.update("AWS::KMS::Alias", created, old, old | {"TargetKeyId": keys[1]})
    assert deployer.client("kms").describe_key(KeyId="alias/fleet")["KeyMetadata"]["KeyId"] == keys[1]
    deployer.delete("AWS::KMS::Alias", created, **old)
    assert not deployer.provider.exists("AWS::KMS::Alias", "alias/fleet")


def test_a_function_its_version_and_its_permissions(deployer: Deployer) -> None:
    client = deployer.client("lambda")
    role = deployer.create("AWS::IAM::Role", AssumeRolePolicyDocument=trust("lambda.amazonaws.com")).attributes["Arn"]
    old: dict[str, Any] = {
        "FunctionName": "small",
        "Code": {"ZipFile": "def handler(event, context): ..."},
        "Handler": "index.handler",
        "Runtime": "python3.12",
        "Role": role,
        "MemorySize": "256",
        "LoggingConfig": {"LogFormat": "JSON", "LogGroup": "/small"},
        "ReservedConcurrentExecutions": 1,
    }
    kind = "AWS::Lambda::Function"
    created = deployer.create(kind, **old)
    found = client.get_function(FunctionName="small")
    assert found["Configuration"]["LoggingConfig"] == {"LogFormat": "JSON", "LogGroup": "/small"}
    assert found["Concurrency"] == {"ReservedConcurrentExecutions": 1}
    assert found["Tags"] == {"fleet": "test"}
    digest = found["Configuration"]["CodeSha256"]
    new = old | {"Code": {"ZipFile": "def handler(event, context): return 1"}, "Timeout": 9}
    deployer.update(kind, created, old, new)
    found = client.get_function(FunctionName="small")["Configuration"]
    assert found["Timeout"] == 9
    assert found["CodeSha256"] != digest

    version = deployer.create("AWS::Lambda::Version", FunctionName="small", Description="first")
    assert version.attributes["Version"] == "1"
    allowed = {"FunctionName": "small", "Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com"}
    permission = deployer.create("AWS::Lambda::Permission", **allowed)
    assert "events.amazonaws.com" in client.get_policy(FunctionName="small")["Policy"]
    deployer.delete("AWS::Lambda::Permission", permission, **allowed)
    deployer.delete(kind, created, **new)
    assert not deployer.provider.exists(kind, "small")


def test_some_types_create_nothing(deployer: Deployer) -> None:
    for kind in (
        "AWS::CDK::Metadata",
        "AWS::CloudFormation::WaitCondition",
        "AWS::CloudFormation::WaitConditionHandle",
    ):
        assert deployer.create(kind).level is Level.NONE
