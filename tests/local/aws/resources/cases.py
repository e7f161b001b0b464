"""One life cycle per type: how it is created, what the service reports, what an update changes."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.local.aws.resources import endpoint_cases as endpoints
from tests.local.aws.resources import notebook_cases as notebooks
from tests.local.aws.resources.machine_cases import (
    MACHINE,
    MACHINE_REPORTED,
    OTHER,
    SCHEDULER,
    machine,
    make_role,
    make_schedule_role,
)
from tests.local.aws.resources.queue_cases import POISON, QUEUE, TABLE, make_poison, queue, table
from tests.local.aws.resources.support import Deployer, trust

Reported = Callable[[Any, str], dict[str, Any]]
"""What the service reports of the resource, from a client and the physical id."""

READ = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}
WRITE = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:PutObject", "Resource": "*"}]}


@dataclass(frozen=True, kw_only=True)
class Case:
    """The life cycle of one resource type."""

    type: str
    service: str
    properties: dict[str, Any]
    reported: Reported
    expected: dict[str, Any]
    """Members of what is reported after creation."""
    change: dict[str, Any] = field(default_factory=dict[str, Any])
    """Properties of the update; `None` takes one away."""
    changed: dict[str, Any] = field(default_factory=dict[str, Any])
    """Members of what is reported after the update."""
    attributes: tuple[str, ...] = ()
    """Attributes that must be there; by default all of the table's."""
    before: Callable[[Deployer], object] | None = None
    """What must be there first."""


def bucket_settings(client: Any, name: str) -> dict[str, Any]:
    """Return all of S3's data about a bucket's settings."""
    lifecycle: Any = None
    with contextlib.suppress(client.exceptions.ClientError):
        lifecycle = client.get_bucket_lifecycle_configuration(Bucket=name)["Rules"]
    return {
        "versioning": client.get_bucket_versioning(Bucket=name).get("Status"),
        "encryption": client.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"]["Rules"][0],
        "block": client.get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"],
        "ownership": client.get_bucket_ownership_controls(Bucket=name)["OwnershipControls"]["Rules"],
        "lifecycle": lifecycle,
        "cors": client.get_bucket_cors(Bucket=name)["CORSRules"],
        "region": client.get_bucket_location(Bucket=name)["LocationConstraint"],
        "tags": client.get_bucket_tagging(Bucket=name)["TagSet"],
    }


def role(client: Any, name: str) -> dict[str, Any]:
    """Return all of IAM's data about a role."""
    return client.get_role(RoleName=name)["Role"] | {
        "inline": {
            one: client.get_role_policy(RoleName=name, PolicyName=one)["PolicyDocument"]
            for one in client.list_role_policies(RoleName=name)["PolicyNames"]
        },
        "attached": [
            one["PolicyName"] for one in client.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
        ],
        "tags": {one["Key"]: one["Value"] for one in client.list_role_tags(RoleName=name)["Tags"]},
    }


def key(client: Any, key_id: str) -> dict[str, Any]:
    """Return all of KMS's data about a key."""
    return client.describe_key(KeyId=key_id)["KeyMetadata"] | {
        "rotation": client.get_key_rotation_status(KeyId=key_id)["KeyRotationEnabled"],
        "policy": client.get_key_policy(KeyId=key_id, PolicyName="default")["Policy"],
        "tags": client.list_resource_tags(KeyId=key_id)["Tags"],
    }


BLOCK = {"BlockPublicAcls": True, "BlockPublicPolicy": True, "IgnorePublicAcls": True, "RestrictPublicBuckets": True}
AES = {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
LIFECYCLE_RULE = {
    "Id": "old",
    "Status": "Enabled",
    "Prefix": "logs/",
    "ExpirationInDays": "30",
    "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
    "NoncurrentVersionExpiration": {"NoncurrentDays": 9},
    "Transitions": [{"StorageClass": "GLACIER", "TransitionInDays": 10}],
}
LIFECYCLE_REPORTED = {
    "ID": "old",
    "Status": "Enabled",
    "Filter": {"Prefix": "logs/"},
    "Expiration": {"Days": 30},
    "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
    "NoncurrentVersionExpiration": {"NoncurrentDays": 9},
    "Transitions": [{"StorageClass": "GLACIER", "Days": 10}],
}
STATEMENT = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*"}

CASES = (
    Case(
        type="AWS::SageMaker::NotebookInstance",
        service="sagemaker",
        properties=notebooks.NOTEBOOK,
        reported=notebooks.notebook,
        expected={
            "NotebookInstanceStatus": "InService",
            "PlatformIdentifier": "notebook-al2023-v1",
            "VolumeSizeInGB": 50,
            "RootAccess": "Disabled",
            "NotebookInstanceLifecycleConfigName": "pins",
            "DefaultCodeRepository": "samples",
            "InstanceMetadataServiceConfiguration": {"MinimumInstanceMetadataServiceVersion": "2"},
            "tags": {"fleet", "kind"},
        },
        change={"InstanceType": "ml.g5.xlarge", "DefaultCodeRepository": None},
        changed={"InstanceType": "ml.g5.xlarge", "NotebookInstanceStatus": "InService"},
        before=notebooks.make_parts,
    ),
    Case(
        type="AWS::SageMaker::NotebookInstanceLifecycleConfig",
        service="sagemaker",
        properties=notebooks.CONFIG,
        reported=notebooks.config,
        expected={"OnStart": [{"Content": notebooks.SCRIPT}], "tags": {"fleet"}},
        change={"OnStart": [{"Content": notebooks.LONGER}]},
        changed={"OnStart": [{"Content": notebooks.LONGER}]},
    ),
    Case(
        type="AWS::SageMaker::CodeRepository",
        service="sagemaker",
        properties=notebooks.REPOSITORY,
        reported=notebooks.repository,
        expected={"GitConfig": notebooks.REPOSITORY["GitConfig"], "tags": {"fleet"}},
        change={"Tags": [{"Key": "kind", "Value": "code"}]},
        changed={"tags": {"fleet", "kind"}},
    ),
    Case(
        type="AWS::SageMaker::Model",
        service="sagemaker",
        properties=endpoints.MODEL,
        reported=endpoints.model,
        expected={
            "PrimaryContainer": endpoints.MODEL["PrimaryContainer"],
            "ExecutionRoleArn": endpoints.ROLE,
            "EnableNetworkIsolation": True,
            "tags": {"fleet", "kind"},
        },
        change={"Tags": [{"Key": "other", "Value": "model"}]},
        changed={"tags": {"fleet", "other"}},
        before=endpoints.make_archive,
    ),
    Case(
        type="AWS::SageMaker::EndpointConfig",
        service="sagemaker",
        properties=endpoints.CONFIG,
        reported=endpoints.config,
        expected={
            "ProductionVariants": [endpoints.VARIANT],
            "DataCaptureConfig": endpoints.CAPTURE,
            "KmsKeyId": "alias/fleet",
        },
        before=endpoints.make_model,
    ),
    Case(
        type="AWS::SageMaker::Endpoint",
        service="sagemaker",
        properties={**endpoints.ENDPOINT, **endpoints.FOR_UPDATES},
        reported=endpoints.endpoint,
        expected={
            "EndpointStatus": "InService",
            "EndpointConfigName": "gpt-j-1",
            "LastDeploymentConfig": endpoints.ALL_AT_ONCE,
        },
        change={"EndpointConfigName": "gpt-j-2"},
        changed={"EndpointConfigName": "gpt-j-2", "LastDeploymentConfig": endpoints.ALL_AT_ONCE},
        before=endpoints.make_configs,
    ),
    Case(
        type="AWS::S3::Bucket",
        service="s3",
        properties={
            "BucketName": "settings",
            "VersioningConfiguration": {"Status": "Enabled"},
            "BucketEncryption": {"ServerSideEncryptionConfiguration": [AES | {"BucketKeyEnabled": True}]},
            "PublicAccessBlockConfiguration": BLOCK,
            "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
            "LifecycleConfiguration": {"Rules": [LIFECYCLE_RULE]},
            "CorsConfiguration": {"CorsRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"], "MaxAge": 5}]},
            "Tags": [{"Key": "kind", "Value": "data"}],
        },
        reported=bucket_settings,
        expected={
            "versioning": "Enabled",
            "encryption": {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": True},
            "block": BLOCK,
            "ownership": [{"ObjectOwnership": "BucketOwnerEnforced"}],
            "lifecycle": [LIFECYCLE_REPORTED],
            "cors": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["*"], "MaxAgeSeconds": 5}],
            "region": "us-west-2",
            "tags": [{"Key": "fleet", "Value": "test"}, {"Key": "kind", "Value": "data"}],
        },
        change={"VersioningConfiguration": None, "LifecycleConfiguration": None, "Tags": []},
        changed={
            "versioning": "Suspended",
            "lifecycle": None,
            "block": BLOCK,
            "tags": [{"Key": "fleet", "Value": "test"}],
        },
    ),
    Case(
        type="AWS::IAM::Role",
        service="iam",
        properties={
            "AssumeRolePolicyDocument": trust("ec2.amazonaws.com"),
            "Description": "one",
            "MaxSessionDuration": "7200",
            "Policies": [{"PolicyName": "a", "PolicyDocument": READ}, {"PolicyName": "b", "PolicyDocument": READ}],
            "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"],
            "Tags": [{"Key": "old", "Value": "1"}],
        },
        reported=role,
        expected={
            "Description": "one",
            "MaxSessionDuration": 7200,
            "inline": {"a": READ, "b": READ},
            "attached": ["AmazonSSMManagedInstanceCore"],
            "tags": {"fleet": "test", "old": "1"},
        },
        change={
            "Description": "two",
            "AssumeRolePolicyDocument": trust("sagemaker.amazonaws.com"),
            "Policies": [{"PolicyName": "b", "PolicyDocument": WRITE}],
            "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"],
            "Tags": [{"Key": "new", "Value": "2"}],
        },
        changed={
            "Description": "two",
            "AssumeRolePolicyDocument": trust("sagemaker.amazonaws.com"),
            "inline": {"b": WRITE},
            "attached": ["AmazonS3ReadOnlyAccess"],
            "tags": {"fleet": "test", "new": "2"},
        },
    ),
    Case(
        type="AWS::IAM::ManagedPolicy",
        service="iam",
        properties={"PolicyDocument": READ, "Description": "d"},
        reported=lambda client, arn: client.get_policy_version(
            PolicyArn=arn, VersionId=client.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        )["PolicyVersion"],
        expected={"Document": READ},
        change={"PolicyDocument": WRITE},
        changed={"Document": WRITE},
    ),
    Case(
        type="AWS::IAM::ServiceLinkedRole",
        service="iam",
        properties={"AWSServiceName": "sagemaker.amazonaws.com"},
        reported=role,
        expected={"Path": "/aws-service-role/sagemaker.amazonaws.com/"},
    ),
    Case(
        type="AWS::KMS::Key",
        service="kms",
        properties={
            "KeyPolicy": {"Version": "2012-10-17", "Statement": [STATEMENT]},
            "EnableKeyRotation": "true",
            "Description": "fleet",
            "PendingWindowInDays": 7,
        },
        reported=key,
        expected={"Description": "fleet", "rotation": True, "tags": [{"TagKey": "fleet", "TagValue": "test"}]},
        change={"Description": "other", "EnableKeyRotation": False, "Enabled": False},
        changed={"Description": "other", "rotation": False, "Enabled": False},
    ),
    Case(
        type="AWS::Logs::LogGroup",
        service="logs",
        properties={"LogGroupName": "/fleet/flow", "RetentionInDays": 30, "Tags": [{"Key": "a", "Value": "b"}]},
        reported=lambda client, name: (
            client.describe_log_groups(logGroupNamePrefix=name)["logGroups"][0]
            | {"tags": client.list_tags_log_group(logGroupName=name)["tags"]}
        ),
        expected={"retentionInDays": 30, "tags": {"fleet": "test", "a": "b"}},
        change={"RetentionInDays": 90},
        changed={"retentionInDays": 90},
    ),
    Case(
        type="AWS::SSM::Parameter",
        service="ssm",
        properties={"Name": "/fleet/version", "Type": "String", "Value": "1", "Description": "d"},
        reported=lambda client, name: client.get_parameter(Name=name)["Parameter"],
        expected={"Value": "1", "Type": "String"},
        change={"Value": "2"},
        changed={"Value": "2", "Version": 2},
    ),
    Case(
        type="AWS::SecretsManager::Secret",
        service="secretsmanager",
        properties={
            "GenerateSecretString": {"SecretStringTemplate": '{"user":"slurm"}', "GenerateStringKey": "password"},
            "Description": "one",
        },
        reported=lambda client, arn: (
            client.describe_secret(SecretId=arn) | {"text": client.get_secret_value(SecretId=arn)["SecretString"][:24]}
        ),
        expected={"Description": "one", "text": '{"user": "slurm", "passw'},
        change={"Description": "two"},
        changed={"Description": "two"},
    ),
    Case(
        type="AWS::CloudWatch::Alarm",
        service="cloudwatch",
        properties={
            "ComparisonOperator": "GreaterThanThreshold",
            "EvaluationPeriods": "2",
            "MetricName": "Used",
            "Namespace": "AWS/FSx",
            "Period": 300,
            "Statistic": "Average",
            "Threshold": 80,
            "Dimensions": [{"Name": "FileSystemId", "Value": "fs-1"}],
            "TreatMissingData": "breaching",
        },
        reported=lambda client, name: client.describe_alarms(AlarmNames=[name])["MetricAlarms"][0],
        expected={"EvaluationPeriods": 2, "Threshold": 80.0, "TreatMissingData": "breaching", "Period": 300},
        change={"Threshold": 90},
        changed={"Threshold": 90.0},
    ),
    Case(
        type="AWS::SNS::Topic",
        service="sns",
        properties={"DisplayName": "fleet", "KmsMasterKeyId": "alias/aws/sns"},
        reported=lambda client, arn: client.get_topic_attributes(TopicArn=arn)["Attributes"],
        expected={"DisplayName": "fleet", "KmsMasterKeyId": "alias/aws/sns"},
        change={"DisplayName": "other"},
        changed={"DisplayName": "other"},
    ),
    Case(
        type="AWS::StepFunctions::StateMachine",
        service="stepfunctions",
        properties=MACHINE,
        reported=machine,
        expected=MACHINE_REPORTED,
        change={"DefinitionString": OTHER},
        changed={"definition": OTHER},
        before=make_role,
    ),
    Case(
        type="AWS::Scheduler::Schedule",
        service="scheduler",
        properties={
            "Name": "nightly",
            "ScheduleExpression": "cron(0 3 ? * SUN *)",
            "ScheduleExpressionTimezone": "Europe/Vienna",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {"Arn": "arn:aws:sqs:us-west-2:123456789012:jobs", "RoleArn": SCHEDULER, "Input": "{}"},
        },
        reported=lambda client, name: client.get_schedule(Name=name),
        expected={"ScheduleExpressionTimezone": "Europe/Vienna", "State": "ENABLED"},
        before=make_schedule_role,
        change={"State": "DISABLED"},
        changed={"State": "DISABLED"},
    ),
    Case(
        type="AWS::ECR::Repository",
        service="ecr",
        properties={
            "RepositoryName": "images",
            "ImageScanningConfiguration": {"ScanOnPush": True},
            "ImageTagMutability": "IMMUTABLE",
            "LifecyclePolicy": {
                "LifecyclePolicyText": '{"rules":[{"rulePriority":1,"selection":{"tagStatus":"untagged",'
                '"countType":"sinceImagePushed","countUnit":"days","countNumber":365},"action":{"type":"expire"}}]}'
            },
        },
        reported=lambda client, name: (
            client.describe_repositories(repositoryNames=[name])["repositories"][0]
            | {"lifecycle": "365" in client.get_lifecycle_policy(repositoryName=name)["lifecyclePolicyText"]}
        ),
        expected={
            "imageTagMutability": "IMMUTABLE",
            "imageScanningConfiguration": {"scanOnPush": True},
            "lifecycle": True,
        },
        change={"ImageTagMutability": "MUTABLE"},
        changed={"imageTagMutability": "MUTABLE"},
    ),
    Case(
        type="AWS::SQS::Queue",
        service="sqs",
        before=make_poison,
        properties=QUEUE | {"MessageRetentionPeriod": 1209600, "DelaySeconds": 5},
        reported=queue,
        expected={
            "VisibilityTimeout": "3600",
            "MessageRetentionPeriod": "1209600",
            "DelaySeconds": "5",
            "redrive": {"deadLetterTargetArn": POISON, "maxReceiveCount": 5},
            "tags": {"fleet": "test"},
        },
        change={"VisibilityTimeout": 900, "MessageRetentionPeriod": None, "RedrivePolicy": None, "DelaySeconds": None},
        changed={"VisibilityTimeout": "900", "MessageRetentionPeriod": "345600", "redrive": None, "DelaySeconds": "0"},
    ),
    Case(
        type="AWS::DynamoDB::Table",
        service="dynamodb",
        properties=TABLE,
        reported=table,
        expected={
            "billing": "PAY_PER_REQUEST",
            "indexes": ["open"],
            "restorable": "ENABLED",
            "encrypted": "ENABLED",
            "DeletionProtectionEnabled": False,
        },
        change={"PointInTimeRecoverySpecification": None, "DeletionProtectionEnabled": False},
        changed={"restorable": "DISABLED"},
    ),
)
