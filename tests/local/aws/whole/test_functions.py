"""A deployed function runs with its role when it is invoked; queues invoke it as Lambda's pollers do."""

import io
import json
import zipfile
from typing import Any

import pytest

from llm_fleet_local.aws.client import LocalAws

CODE = """
import json, os
import boto3

def handler(event, context):
    if event.get("Records"):
        bodies = [json.loads(record["body"]) for record in event["Records"]]
        if any(body == "raise" for body in bodies):
            raise RuntimeError("as the test wants")
        bad = [record["messageId"] for record, body in zip(event["Records"], bodies) if body == "bad"]
        return {"batchItemFailures": [{"itemIdentifier": one} for one in bad]}
    if event.get("list"):
        return [bucket["Name"] for bucket in boto3.client("s3").list_buckets()["Buckets"]]
    print("said", event["word"])
    return {"word": event["word"], "who": boto3.client("sts").get_caller_identity()["Arn"], "own": os.environ["OWN"]}
"""
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


def archive() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("own.py", CODE)
    return data.getvalue()


@pytest.fixture(scope="module")
def function(aws: LocalAws) -> str:
    role = aws.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    aws.client("lambda").create_function(
        FunctionName="worker",
        Runtime="python3.13",
        Role=role,
        Handler="own.handler",
        Code={"ZipFile": archive()},
        Timeout=30,
        Environment={"Variables": {"OWN": "variable"}},
    )
    return "worker"


@pytest.fixture
def queue(aws: LocalAws, function: str) -> Any:
    arn = "arn:aws:sqs:us-west-2:123456789012:work"
    let_in = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [let_in | {"Resource": arn}]})
    attributes = {"VisibilityTimeout": "60", "Policy": policy}
    url = aws.client("sqs").create_queue(QueueName="work", Attributes=attributes)["QueueUrl"]
    mapped = aws.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName=function, BatchSize=10, FunctionResponseTypes=["ReportBatchItemFailures"]
    )
    yield url
    aws.client("lambda").delete_event_source_mapping(UUID=mapped["UUID"])
    aws.client("sqs").delete_queue(QueueUrl=url)


def waiting(aws: LocalAws, url: str) -> tuple[int, int]:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    reported = aws.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    visible, hidden = (int(reported[name]) for name in names)
    return visible, hidden


def test_it_returns_the_handlers_result_and_runs_with_its_role(aws: LocalAws, function: str) -> None:
    run = aws.invoke(function, {"word": "hello"}, checked=False)
    assert run["ended_well"]
    assert run["returned"]["word"] == "hello"
    assert ":assumed-role/worker/" in run["returned"]["who"]
    assert run["returned"]["own"] == "variable"
    assert "said hello" in run["log"]


def test_iam_checks_only_calls_during_the_run(aws: LocalAws, function: str) -> None:
    denied = aws.invoke(function, {"list": True})
    assert not denied["ended_well"]
    assert "AccessDenied" in denied["log"]
    aws.client("s3").create_bucket(Bucket="seen", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:ListAll*", "Resource": "*"}]}
    aws.client("iam").put_role_policy(RoleName="worker", PolicyName="list", PolicyDocument=json.dumps(allowed))
    assert "seen" in aws.invoke(function, {"list": True})["returned"]


def test_failed_messages_stay_in_the_queue_and_others_are_deleted(aws: LocalAws, function: str, queue: str) -> None:
    for body in ("good", "bad", "good"):
        aws.client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(body))
    assert waiting(aws, queue) == (3, 0)  # Delivered only on request.
    (run,) = aws.deliver(function)
    assert len(run["returned"]["batchItemFailures"]) == 1
    assert waiting(aws, queue) == (0, 1)


def test_a_run_that_raises_an_exception_keeps_its_whole_batch(aws: LocalAws, function: str, queue: str) -> None:
    for body in ("good", "raise"):
        aws.client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(body))
    (run,) = aws.deliver(function)
    assert not run["ended_well"]
    assert waiting(aws, queue) == (0, 2)


def test_an_event_reaches_the_queue_of_each_enabled_rule_that_it_matches(
    aws: LocalAws, function: str, queue: str
) -> None:
    events = aws.client("events")
    worker = "arn:aws:lambda:us-west-2:123456789012:function:worker"
    pattern = json.dumps({"source": ["aws.sagemaker"], "detail": {"TrainingJobStatus": ["Failed"]}})
    events.put_rule(Name="failed", EventPattern=pattern)
    events.put_rule(Name="asleep", EventPattern=pattern, State="DISABLED")
    events.put_rule(Name="now-and-then", ScheduleExpression="rate(15 minutes)")
    for name in ("failed", "asleep", "now-and-then"):
        targets = [{"Id": "queue", "Arn": "arn:aws:sqs:us-west-2:123456789012:work"}, {"Id": "worker", "Arn": worker}]
        events.put_targets(Rule=name, Targets=targets)
    for status in ("InProgress", "Failed"):
        detail = json.dumps({"TrainingJobStatus": status})
        events.put_events(Entries=[{"Source": "aws.sagemaker", "DetailType": "A change", "Detail": detail}])
    (message,) = aws.client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    reported = json.loads(message["Body"])
    assert (reported["detail-type"], reported["detail"]) == ("A change", {"TrainingJobStatus": "Failed"})
    assert len(reported["time"]) == len("2026-11-22T09:30:00Z")
