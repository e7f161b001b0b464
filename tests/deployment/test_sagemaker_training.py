"""The example of a training job, deployed to a local emulation once: read back, started, watched, run to its end."""

import io
import json
import tarfile
import time
from collections.abc import Callable, Generator
from typing import Any
from urllib.parse import urlsplit

import pytest

from llm_fleet_local.aws.client import LocalAws
from tests.deployment.conftest import synthesize
from tools.synth_environment import ROOT

EXAMPLE = ROOT / "examples" / "sagemaker-training.yaml"
STACK = "trainer-text"
_PATIENCE_SECONDS = 60


class TrainingOnAws:
    """The deployed example."""

    def __init__(self, aws: LocalAws) -> None:
        self.aws = aws
        reported = aws.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
        self.outputs: dict[str, str] = {output["OutputKey"]: output["OutputValue"] for output in reported}

    def until(self, found: Callable[[], Any]) -> Any:
        """Wait until `found` returns something."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not (value := found()):
            assert time.monotonic() < deadline, self.aws.server_log[-2000:]
            time.sleep(0.1)
        return value

    def jobs(self) -> list[str]:
        """Names of all jobs, the newest first."""
        found = self.aws.client("sagemaker").list_training_jobs(NameContains=f"{STACK}-")
        return [job["TrainingJobName"] for job in found["TrainingJobSummaries"]]

    def end(self, execution: str) -> dict[str, Any]:
        """Wait for the end of an execution."""

        def over() -> dict[str, Any] | None:
            reported = self.aws.client("stepfunctions").describe_execution(executionArn=execution)
            return None if reported["status"] == "RUNNING" else reported

        return self.until(over)


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Generator[TrainingOnAws]:
    with LocalAws(region="us-west-2") as aws:
        aws.bootstrap()
        report = aws.deploy(synthesize(tmp_path_factory.mktemp("training") / "cdk.out", EXAMPLE))
        assert report.succeeded, str(report)
        aws.shorten_waits(0.3)
        yield TrainingOnAws(aws)


def test_it_is_started_by_a_schedule_and_by_a_line(training: TrainingOnAws) -> None:
    machine = training.outputs["StateMachineArn"]
    assert training.outputs["StartCommand"] == (
        f"aws stepfunctions start-execution --region us-west-2 --state-machine-arn {machine} --input '{{}}'"
    )
    schedule = training.aws.client("scheduler").get_schedule(Name=STACK)
    assert (schedule["ScheduleExpression"], schedule["Target"]["Arn"]) == ("cron(0 3 ? * SUN *)", machine)
    assert training.outputs["ShellCommand"].endswith("--target sagemaker-training-job:JOB_algo-1")


def test_a_run_starts_the_job_that_was_described(training: TrainingOnAws) -> None:
    execution = training.aws.run_machine(training.outputs["StateMachineArn"])
    name = training.until(training.jobs)[0]
    job = training.aws.client("sagemaker").describe_training_job(TrainingJobName=name)
    assert job["ResourceConfig"]["InstanceType"] == "ml.g5.12xlarge"
    assert (job["ResourceConfig"]["InstanceCount"], job["ResourceConfig"]["KeepAlivePeriodInSeconds"]) == (2, 1200)
    assert job["RemoteDebugConfig"] == {"EnableRemoteDebug": True}
    assert job["RetryStrategy"] == {"MaximumRetryAttempts": 3}
    assert job["CheckpointConfig"]["S3Uri"].endswith(f"/checkpoints/{STACK}/{name}/")
    assert len(job["VpcConfig"]["Subnets"]) == 2
    tags = training.aws.client("sagemaker").list_tags(ResourceArn=job["TrainingJobArn"])["Tags"]
    assert {"Key": "llm-fleet:training-job", "Value": STACK} in tags
    assert script(training.aws, job) == (ROOT / "examples" / "sagemaker-training" / "train.py").read_bytes()
    alarms = training.aws.client("cloudwatch").describe_alarms(AlarmNamePrefix=f"{name}-")["MetricAlarms"]
    assert [alarm["AlarmName"] for alarm in alarms] == [f"{name}-train:loss-above"]
    training.aws.move_training_job(name, "Completed")
    ended = training.end(execution)
    assert ended["status"] == "SUCCEEDED", ended
    assert json.loads(ended["output"])["job"] == name
    assert not training.aws.client("cloudwatch").describe_alarms(AlarmNamePrefix=f"{name}-")["MetricAlarms"]


def script(aws: LocalAws, job: dict[str, Any]) -> bytes:
    """The script as the job's container would unpack it, read with the job's role."""
    place = urlsplit(str(json.loads(job["HyperParameters"]["sagemaker_submit_directory"])))
    with aws.as_role(job["RoleArn"]) as client:
        data = client("s3").get_object(Bucket=place.netloc, Key=place.path.lstrip("/"))["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        found = archive.extractfile(json.loads(job["HyperParameters"]["sagemaker_program"]))
        assert found is not None
        return found.read()


def test_the_jobs_role_reaches_its_own_data_and_no_more(training: TrainingOnAws) -> None:
    role = training.aws.client("sagemaker").describe_training_job(TrainingJobName=training.jobs()[0])["RoleArn"]
    own = training.outputs["BucketName"]
    with training.aws.as_role(role) as client:
        client("s3").put_object(Bucket=own, Key=f"checkpoints/{STACK}/run/step-1.pt", Body=b"1")
        for bucket, key in ((own, "else/where"), (f"cdk-hnb659fds-assets-{training.aws.account}-us-west-2", "other")):
            with pytest.raises(client("s3").exceptions.ClientError, match=r"AccessDenied|Access Denied|403"):
                client("s3").put_object(Bucket=bucket, Key=key, Body=b"1")


def test_the_machine_may_do_what_it_does_and_no_more(training: TrainingOnAws) -> None:
    machine = training.aws.client("stepfunctions").describe_state_machine(
        stateMachineArn=training.outputs["StateMachineArn"]
    )
    own = training.jobs()[0]
    with training.aws.as_role(machine["roleArn"]) as client:
        assert client("sagemaker").describe_training_job(TrainingJobName=own)["TrainingJobName"] == own
        for call in (
            lambda: client("sagemaker").stop_training_job(TrainingJobName=own),
            lambda: client("sagemaker").list_training_jobs(),
            lambda: client("dynamodb").list_tables(),
        ):
            with pytest.raises(client("sagemaker").exceptions.ClientError, match=r"not authorized|AccessDenied"):
                call()


def test_a_watched_run_that_fails_asks_the_watchs_record(training: TrainingOnAws) -> None:
    execution = training.aws.run_machine(training.outputs["StateMachineArn"], {"name_suffix": "lost"})
    training.until(lambda: f"{STACK}-lost" in training.jobs())
    training.aws.move_training_job(f"{STACK}-lost", "Failed", reason="InternalServerError: a node was lost")
    table = training.aws.client("cloudformation").describe_stacks(StackName="trainer-watch")["Stacks"][0]["Outputs"]
    name = next(output["OutputValue"] for output in table if output["OutputKey"] == "RecordTable")
    item = {"job": f"{STACK}-lost", "decision": "give_up", "reason": "it was started again three times"}
    training.aws.client("dynamodb").put_item(TableName=name, Item={key: {"S": value} for key, value in item.items()})
    ended = training.end(execution)
    assert (ended["status"], ended["error"]) == ("FAILED", "JobNotRestarted")
    assert "it was started again three times" in ended["cause"]


class WatchOnAws:
    """The deployed example's watch, and what it has reported."""

    def __init__(self, aws: LocalAws) -> None:
        self.aws = aws
        reported = aws.client("cloudformation").describe_stack_resources(StackName="trainer-watch")["StackResources"]
        (self.function,) = [
            one["PhysicalResourceId"] for one in reported if one["ResourceType"] == "AWS::Lambda::Function"
        ]
        outputs = aws.client("cloudformation").describe_stacks(StackName="trainer-watch")["Stacks"][0]["Outputs"]
        self.outputs: dict[str, str] = {output["OutputKey"]: output["OutputValue"] for output in outputs}
        self.queue_url = self.outputs["QueueUrl"]
        self._ears = aws.client("sqs").create_queue(QueueName="ears")["QueueUrl"]
        ears = f"arn:aws:sqs:us-west-2:{aws.account}:ears"
        aws.client("sns").subscribe(TopicArn=self.outputs["TopicArn"], Protocol="sqs", Endpoint=ears)

    def send(self, job: str, status: str, secondary: str) -> None:
        """Let SageMaker report of a job."""
        detail = {"TrainingJobName": job, "TrainingJobStatus": status, "SecondaryStatus": secondary}
        entry = {"Source": "aws.sagemaker", "DetailType": "SageMaker Training Job State Change"}
        self.aws.client("events").put_events(Entries=[entry | {"Detail": json.dumps(detail)}])

    def decided(self) -> int:
        """Let the function take what waits, as its role; return how many runs that were."""
        runs = self.aws.deliver(self.function)
        assert all(run["ended_well"] and run["returned"] == {"batchItemFailures": []} for run in runs), runs
        return len(runs)

    def serve(self, message: dict[str, str]) -> None:
        """Let the function serve a message of its own, e.g. one that was delayed."""
        run = self.aws.invoke(self.function, message)
        assert run["ended_well"], run["log"]

    def item(self, job: str) -> dict[str, str]:
        """What the record has of a job."""
        table = self.aws.client("dynamodb")
        found = table.get_item(TableName=self.outputs["RecordTable"], Key={"job": {"S": job}}).get("Item", {})
        return {name: next(iter(value.values())) for name, value in found.items()}

    def make_due(self, job: str) -> None:
        """End the wait before a restart."""
        self.aws.client("dynamodb").update_item(
            TableName=self.outputs["RecordTable"],
            Key={"job": {"S": job}},
            UpdateExpression="SET due = :now",
            ExpressionAttributeValues={":now": {"N": "0"}},
        )

    def heard(self) -> list[str]:
        """What was reported since the last call."""
        messages = self.aws.client("sqs").receive_message(QueueUrl=self._ears, MaxNumberOfMessages=10)
        return [json.loads(message["Body"])["Message"] for message in messages.get("Messages", [])]


@pytest.fixture(scope="module")
def watch(training: TrainingOnAws) -> WatchOnAws:
    return WatchOnAws(training.aws)


def test_a_job_that_the_service_lost_is_started_again_once_and_followed(
    training: TrainingOnAws, watch: WatchOnAws
) -> None:
    execution = training.aws.run_machine(training.outputs["StateMachineArn"], {"name_suffix": "again"})
    job, client, alarms = f"{STACK}-again", training.aws.client("sagemaker"), training.aws.client("cloudwatch")
    training.until(lambda: job in training.jobs())
    training.aws.client("sqs").purge_queue(QueueUrl=watch.queue_url)  # what earlier tests let SageMaker report
    training.aws.move_training_job(job, "InProgress", secondary="Training")
    assert watch.decided() == 1
    prefix = f"llm-fleet/trainer/{job}/"
    names = [alarm["AlarmName"] for alarm in alarms.describe_alarms(AlarmNamePrefix=prefix)["MetricAlarms"]]
    assert names == [f"{prefix}loss-spike", f"{prefix}stall"]

    training.aws.move_training_job(job, "Failed", reason="InternalServerError: a node was lost")
    watch.send(job, "Failed", "Failed")
    watch.send("somebody-elses", "Failed", "Failed")
    assert watch.decided() == 2  # both of the job, and not the stranger's
    record = watch.item(job)
    successor = record["successor"]
    assert (record["decision"], record["cause"], successor in training.jobs()) == ("restart", "service", False)
    assert not alarms.describe_alarms(AlarmNamePrefix=prefix)["MetricAlarms"]

    watch.make_due(job)
    watch.serve({"kind": "look", "job": job})
    watch.serve({"kind": "look", "job": job})
    watch.serve({"kind": "sweep"})
    old, new = (client.describe_training_job(TrainingJobName=name) for name in (job, successor))
    assert new["CheckpointConfig"] == old["CheckpointConfig"]
    assert new["RoleArn"] == old["RoleArn"]
    assert watch.item(job)["created"]
    assert [name for name in training.jobs() if name.startswith(job)] == [successor, job]
    assert any(job in message and successor in message for message in watch.heard())
    training.aws.move_training_job(successor, "Completed")
    ended = training.end(execution)
    assert ended["status"] == "SUCCEEDED", ended
