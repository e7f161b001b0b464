"""Queues: which policies allow writing, and Lambda's rules for a queue that it polls."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest

from llm_fleet_local.aws.resource_provider import ResourceFailed
from tests.local.aws.resources.queue_cases import POLICY, QUEUE, make_poison
from tests.local.aws.resources.support import ACCOUNT, REGION, Deployer, trust

ARN = f"arn:aws:sqs:{REGION}:{ACCOUNT}:events"
RULE_ARN = f"arn:aws:events:{REGION}:{ACCOUNT}:rule/failed"
RULE: dict[str, Any] = {
    "Name": "failed",
    "EventPattern": {"source": ["aws.sagemaker"]},
    "State": "ENABLED",
    "Targets": [{"Id": "Queue", "Arn": ARN}],
}


def policy(condition: dict[str, str]) -> dict[str, Any]:
    """Return a policy that allows EventBridge to send, with `condition`."""
    (statement,) = POLICY["Statement"]
    return {**POLICY, "Statement": [{**statement, "Condition": {"ArnEquals": condition}}]}  # pyright: ignore


def key_policy(*actions: str) -> dict[str, Any]:
    """Return a key policy that allows EventBridge `actions`."""
    root = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "kms:*", "Resource": "*"}
    events = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": list(actions)}
    return {"Version": "2012-10-17", "Statement": [root, *([{**events, "Resource": "*"}] if actions else [])]}


def arrived(deployer: Deployer, url: str) -> int:
    """Put one event on the bus; return the number of messages in the queue."""
    entry = {"Source": "aws.sagemaker", "DetailType": "A change", "Detail": "{}"}
    deployer.client("events").put_events(Entries=[entry])
    return len(deployer.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []))


@pytest.mark.parametrize(
    ("queue_policy", "number"),
    [
        (None, 0),
        (POLICY, 1),
        (policy({"aws:SourceArn": RULE_ARN}), 1),
        (policy({"aws:SourceArn": RULE_ARN + "-other"}), 0),
        (policy({"aws:SourceAccount": ACCOUNT}), 1),
    ],
    ids=["none", "any rule", "this rule", "another rule", "this account"],
)
def test_a_rule_writes_to_a_queue_only_if_its_policy_allows_it(
    deployer: Deployer, queue_policy: Mapping[str, Any] | None, number: int
) -> None:
    url = deployer.create("AWS::SQS::Queue", QueueName="events").physical_id
    if queue_policy:
        deployer.create("AWS::SQS::QueuePolicy", Queues=[url], PolicyDocument=queue_policy)
    deployer.create("AWS::Events::Rule", **RULE)
    assert arrived(deployer, url) == number


@pytest.mark.parametrize(
    ("actions", "number"), [((), 0), (("kms:GenerateDataKey",), 0), (("kms:Decrypt", "kms:GenerateDataKey"), 1)]
)
def test_a_rule_writes_to_an_encrypted_queue_only_with_its_key(
    deployer: Deployer, actions: tuple[str, ...], number: int
) -> None:
    key = deployer.create("AWS::KMS::Key", KeyPolicy=key_policy(*actions)).attributes["Arn"]
    url = deployer.create("AWS::SQS::Queue", QueueName="events", KmsMasterKeyId=key).physical_id
    deployer.create("AWS::SQS::QueuePolicy", Queues=[url], PolicyDocument=POLICY)
    deployer.create("AWS::Events::Rule", **RULE)
    assert arrived(deployer, url) == number


def test_a_policy_is_removed_with_its_queue_policy(deployer: Deployer) -> None:
    url = deployer.create("AWS::SQS::Queue", QueueName="events").physical_id
    created = deployer.create("AWS::SQS::QueuePolicy", Queues=[url], PolicyDocument=POLICY)
    reported = deployer.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    assert json.loads(reported["Policy"]) == POLICY
    deployer.delete("AWS::SQS::QueuePolicy", created, Queues=[url], PolicyDocument=POLICY)
    reported = (
        deployer.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"]).get("Attributes", {})
    )
    assert not reported.get("Policy")


def test_a_dead_letter_queue_must_exist(deployer: Deployer) -> None:
    with pytest.raises(ResourceFailed, match="GetQueueUrl"):
        deployer.create("AWS::SQS::Queue", **QUEUE)
    make_poison(deployer)
    deployer.create("AWS::SQS::Queue", **QUEUE)


def function(deployer: Deployer, timeout: int) -> str:
    """Create a function with this timeout in seconds."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("index.py", "def handler(event, context): return None\n")
    deployer.client("s3").create_bucket(Bucket="code", CreateBucketConfiguration={"LocationConstraint": REGION})
    deployer.client("s3").put_object(Bucket="code", Key="code.zip", Body=data.getvalue())
    deployer.create("AWS::IAM::Role", RoleName="worker", AssumeRolePolicyDocument=trust("lambda.amazonaws.com"))
    return deployer.create(
        "AWS::Lambda::Function",
        FunctionName="worker",
        Runtime="python3.13",
        Handler="index.handler",
        Role=f"arn:aws:iam::{ACCOUNT}:role/worker",
        Code={"S3Bucket": "code", "S3Key": "code.zip"},
        Timeout=timeout,
    ).physical_id


def test_the_visibility_timeout_must_be_as_long_as_the_function_timeout(deployer: Deployer) -> None:
    requested: dict[str, Any] = {
        "EventSourceArn": ARN,
        "FunctionName": function(deployer, 60),
        "BatchSize": 1,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": {"MaximumConcurrency": 2},
    }
    short = deployer.create("AWS::SQS::Queue", QueueName="events", VisibilityTimeout=59)
    with pytest.raises(ResourceFailed, match="visibility timeout is less than Function timeout"):
        deployer.create("AWS::Lambda::EventSourceMapping", **requested)
    deployer.update("AWS::SQS::Queue", short, {"QueueName": "events"}, {"QueueName": "events", "VisibilityTimeout": 60})
    created = deployer.create("AWS::Lambda::EventSourceMapping", **requested)
    reported = deployer.client("lambda").get_event_source_mapping(UUID=created.physical_id)
    assert (reported["EventSourceArn"], reported["BatchSize"], reported["State"]) == (ARN, 1, "Enabled")
    now = requested | {"BatchSize": 5}
    deployer.update("AWS::Lambda::EventSourceMapping", created, requested, now)
    assert deployer.client("lambda").get_event_source_mapping(UUID=created.physical_id)["BatchSize"] == 5
    deployer.delete("AWS::Lambda::EventSourceMapping", created, **now)
    assert not deployer.provider.exists("AWS::Lambda::EventSourceMapping", created.physical_id)
