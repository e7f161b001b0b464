"""A watch that follows a HyperPod cluster, deployed to a local emulation: it reports what happens once, and why."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from llm_fleet import TrainingWatch
from llm_fleet_local.aws.client import LocalAws

CLUSTER = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
EVENT_ID = "01234567-89ab-cdef-0123-456789abcdef"
EVENT: dict[str, Any] = {
    "EventId": EVENT_ID,
    "ClusterArn": CLUSTER,
    "ClusterName": "train",
    "InstanceGroupName": "workers",
    "ResourceType": "InstanceGroup",
    "EventLevel": "Error",
    "Description": "Instance creation failed",
    "EventDetails": {"EventMetadata": {"InstanceGroup": {"FailureMessage": "no capacity in usw2-az4"}}},
}


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Generator[LocalAws]:
    app = cdk.App(outdir=str(tmp_path_factory.mktemp("watch") / "cdk.out"))
    stack = cdk.Stack(app, "watch", env=cdk.Environment(account="123456789012", region="us-west-2"))
    watch = TrainingWatch(stack, "Watch", name="lab", clusters=[CLUSTER])
    cdk.CfnOutput(stack, "Function", value=watch.function.function.ref)
    cdk.CfnOutput(stack, "Topic", value=watch.topic.topic_arn)
    assembly = Path(app.synth().directory)
    with LocalAws(region="us-west-2") as running:
        running.bootstrap()
        report = running.deploy(assembly)
        assert report.succeeded, str(report)
        yield running


def test_an_event_is_reported_once_with_the_failure_that_eventbridge_leaves_out(aws: LocalAws) -> None:
    stack: dict[str, Any] = aws.client("cloudformation").describe_stacks(StackName="watch")["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    heard = listen(aws, outputs["Topic"])
    stranger = CLUSTER.replace("abcdefghijkl", "lkjihgfedcba")
    aws.report_cluster_event(EVENT)
    aws.report_cluster_event({**EVENT, "EventId": EVENT_ID.replace("0", "9"), "ClusterArn": stranger})
    runs = aws.deliver(outputs["Function"])
    assert [run["ended_well"] for run in runs] == [True, True], runs
    (reported,) = aws.client("sqs").receive_message(QueueUrl=heard, MaxNumberOfMessages=10)["Messages"]
    assert "Instance creation failed" in reported["Body"]
    assert "no capacity in usw2-az4" in reported["Body"], runs[0]["log"]


def listen(aws: LocalAws, topic: str) -> str:
    """Return the URL of a queue that gets the messages of the topic."""
    url = aws.client("sqs").create_queue(QueueName="ear")["QueueUrl"]
    arn = "arn:aws:sqs:us-west-2:123456789012:ear"
    aws.client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps({"Statement": []})})
    aws.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    return url
