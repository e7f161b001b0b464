"""IAM actions and resources of API calls."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

_PREFIXES = {"monitoring": "cloudwatch"}
"""Prefixes in policies that differ from the names in signatures."""
_S3 = {
    "DeleteBucketCors": "PutBucketCORS",
    "DeleteBucketEncryption": "PutEncryptionConfiguration",
    "DeleteBucketLifecycle": "PutLifecycleConfiguration",
    "DeleteBucketOwnershipControls": "PutBucketOwnershipControls",
    "DeleteBucketTagging": "PutBucketTagging",
    "DeletePublicAccessBlock": "PutBucketPublicAccessBlock",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "GetBucketNotificationConfiguration": "GetBucketNotification",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "HeadBucket": "ListBucket",
    "HeadObject": "GetObject",
    "PutBucketCors": "PutBucketCORS",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
    "PutBucketNotificationConfiguration": "PutBucketNotification",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    "DeleteObjects": "DeleteObject",
    "ListObjectsV2": "ListBucket",
    "ListObjectVersions": "ListBucketVersions",
}
"""Actions of operations with another name.

Source: document https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html (2026-11)
"""
_BUDGETS = {
    "CreateBudget": "ModifyBudget",
    "CreateNotification": "ModifyBudget",
    "CreateSubscriber": "ModifyBudget",
    "DeleteBudget": "ModifyBudget",
    "DeleteNotification": "ModifyBudget",
    "DeleteSubscriber": "ModifyBudget",
    "DescribeBudget": "ViewBudget",
    "DescribeBudgets": "ViewBudget",
    "DescribeNotificationsForBudget": "ViewBudget",
    "DescribeSubscribersForNotification": "ViewBudget",
    "UpdateBudget": "ModifyBudget",
}
"""Actions of AWS Budgets.

Source: document https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsbudgetservice.html (2026-11)
"""
_RENAMED: Mapping[str, Mapping[str, str]] = {"budgets": _BUDGETS, "s3": _S3}
"""By service."""
_TAGS = {
    "autoscaling": "CreateOrUpdateTags",
    "ec2": "CreateTags",
    "ecs": "TagResource",
    "elasticloadbalancing": "AddTags",
    "fsx": "TagResource",
    "kms": "TagResource",
    "lambda": "TagResource",
    "logs": "TagResource",
    "sagemaker": "AddTags",
    "secretsmanager": "TagResource",
    "wafv2": "TagResource",
}
"""Actions that a creation with tags needs in addition.

Source: document https://docs.aws.amazon.com/service-authorization/latest/reference/ (2026-11)
"""
_TAGGED_IAM = {"CreateRole": "TagRole", "CreatePolicy": "TagPolicy", "CreateInstanceProfile": "TagInstanceProfile"}
_TAG_MEMBERS = frozenset({"TagSpecifications", "Tags", "tags"})


def actions_of(model: Any, params: Mapping[str, Any]) -> Iterator[str]:
    """Yield the IAM actions of a call; `model` is botocore's of the operation."""
    signed = str(model.service_model.signing_name)
    service, name = _PREFIXES.get(signed, signed), str(model.name)
    yield f"{service}:{_RENAMED.get(service, {}).get(name, name)}"
    if not any(params.get(member) for member in _TAG_MEMBERS) or not name.startswith(("Create", "Run", "Register")):
        return
    if service == "iam":
        yield f"iam:{_TAGGED_IAM[name]}"
    elif service in _TAGS:
        yield f"{service}:{_TAGS[service]}"


def resource_of(action: str, params: Mapping[str, Any], *, region: str, account: str) -> str:
    """Return the ARN of the resource of a call; a resource that the service names is `…:new`."""
    service = action.partition(":")[0]
    for member in ("ResourceArn", "resourceArn", "ResourceARN", "TopicArn", "PolicyArn", "SecretId", "stateMachineArn"):
        given = params.get(member)
        if isinstance(given, str) and given.startswith("arn:") and "RoleName" not in params:
            return given
    if "SubscriptionArn" in params:  # of the topic: the Service Authorization Reference lists no other resource
        return str(params["SubscriptionArn"]).rpartition(":")[0]
    if service == "s3":
        return f"arn:aws:s3:::{params['Bucket']}" + (f"/{params['Key']}" if "Key" in params else "")
    place = f"arn:aws:{service}:{'' if service in ('iam', 'budgets', 'chatbot') else region}:{account}:"
    return place + (_RELATIVE[service](action, params) if service in _RELATIVE else "new")


def _iam(_: str, params: Mapping[str, Any]) -> str:
    kinds = {"InstanceProfileName": "instance-profile", "RoleName": "role", "PolicyName": "policy"}
    return next((f"{kind}/{params[member]}" for member, kind in kinds.items() if member in params), "new")


def _lambda(_: str, params: Mapping[str, Any]) -> str:
    if "UUID" in params:
        return f"event-source-mapping:{params['UUID']}"
    if "LayerName" in params:
        return f"layer:{params['LayerName']}"
    given = str(params.get("FunctionName") or params.get("Resource"))
    return given.split(":", 5)[5] if given.startswith("arn:") else f"function:{given}"


def _logs(action: str, params: Mapping[str, Any]) -> str:
    # AWS's error messages show that the search is checked for all log groups of the account.
    if action == "logs:DescribeLogGroups":
        return "log-group::log-stream:"
    return f"log-group:{params['logGroupName']}" if "logGroupName" in params else "new"


def _cloudwatch(_: str, params: Mapping[str, Any]) -> str:
    return f"alarm:{params['AlarmName']}" if "AlarmName" in params else "new"


_RELATIVE: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "cloudwatch": _cloudwatch,
    "dynamodb": lambda _, params: f"table/{params.get('TableName')}",
    "iam": _iam,
    "lambda": _lambda,
    "logs": _logs,
    "secretsmanager": lambda _, params: f"secret:{params.get('Name') or params.get('SecretId')}-AbCdEf",
    "sns": lambda _, params: str(params.get("Name", "new")),
    "sqs": lambda _, params: str(params.get("QueueName") or str(params.get("QueueUrl")).rpartition("/")[2]),
    "states": lambda _, params: f"stateMachine:{params.get('name')}",
}
"""The part of the ARN after the account, by service; from an action and the input of a call."""
