"""`llm-fleet logs` and `events` of ParallelCluster and of an inference service, from what they leave in CloudWatch.

The streams have the names and forms that ParallelCluster's and ECS's documents give; the lines are our runner's.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from llm_fleet.cli.main import main
from tests.deployment.fleet_on_aws import FleetOnAws

Say = Callable[..., tuple[int, str, str]]
PC_GROUP = "/aws/parallelcluster/pc-0123abcd-202611220300"
SERVICE_GROUP = "/llm-fleet/inference/inference-talk"
FAILED = [
    "    0.18  OnNodeConfigured: fleet demo, cluster pc, bundle dda30bff258b725c",
    "    0.21  [mount_lustre] begins: Lustre is mounted",
    "    5.30  FAILED  mount_lustre     5.09  LFN51",
    "    5.31  LFN51  mount_lustre: the server does not answer",
    "    5.31    remedy: look at the security groups",
    "    5.32  OnNodeConfigured: LFN51 after 5.32 s",
]
STREAMS = {
    "ip-10-1-0-5.i-0a0a0a0a0a0a0a0a0.cfn-init": ["    0.1  nothing of ours", *FAILED],
    "ip-10-1-0-5.i-0a0a0a0a0a0a0a0a0.slurmctld": ["slurmctld version 24.05.8 started on cluster pc"],
    "trn1-dy-trn1-1.i-0b0b0b0b0b0b0b0b0.cloud-init-output": [
        "Failed to execute OnNodeConfigured script 1, return code: 39."
    ],
}
STOPPED: dict[str, Any] = {
    "source": "aws.ecs",
    "detail-type": "ECS Task State Change",
    "detail": {
        "taskArn": "arn:aws:ecs:us-west-2:123456789012:task/inference-talk/0123456789abcdef0123456789abcdef",
        "lastStatus": "STOPPED",
        "stopCode": "EssentialContainerExited",
        "stoppedReason": "Essential container in task exited",
        "stoppedAt": "2026-11-22T02:00:00.000Z",
        "containers": [{"name": "server", "exitCode": 137, "reason": "OutOfMemoryError: container killed"}],
    },
}


def write(aws: Any, group: str, streams: dict[str, list[str]]) -> None:
    logs = aws.client("logs")
    logs.create_log_group(logGroupName=group)
    for name, lines in streams.items():
        logs.create_log_stream(logGroupName=group, logStreamName=name)
        now = int(time.time() * 1000)
        events = [{"timestamp": now + number, "message": line} for number, line in enumerate(lines)]
        logs.put_log_events(logGroupName=group, logStreamName=name, logEvents=events)


@pytest.fixture(scope="module")
def left(launch_post: FleetOnAws) -> FleetOnAws:
    """An account in which there were a ParallelCluster and a service, too."""
    write(launch_post.aws, PC_GROUP.replace("2026", "2025"), {"ip-10-1-0-9.i-0c0c0c0c0c0c0c0c0.cfn-init": FAILED})
    write(launch_post.aws, PC_GROUP, STREAMS)
    server = {"server/tgi/0123456789abcdef0123456789abcdef": ["loading the model", "killed"]}
    write(launch_post.aws, SERVICE_GROUP, {**server, "events": [json.dumps(STOPPED)]})
    return launch_post


@pytest.fixture
def say(left: FleetOnAws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> Say:
    for name, value in left.aws.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def said(verb: str, name: str, kind: str, *words: str) -> tuple[int, str, str]:
        code = main([verb, name, "--kind", kind, "--region", "us-west-2", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return said


def test_nodes_of_parallelcluster_are_reported_with_their_codes(say: Say) -> None:
    code, out, _ = say("logs", "pc", "parallelcluster", "--json")
    runs = {run["node"]: run for run in json.loads(out)["runs"]}
    head = runs["i-0a0a0a0a0a0a0a0a0"]
    assert code == 1
    assert (head["step"], head["code"], head["cause"]) == ("mount_lustre", "LFN51", "the server does not answer")
    assert runs["i-0b0b0b0b0b0b0b0b0"]["code"] == "LFN39"  # an exit code is all that ParallelCluster says
    assert "i-0c0c0c0c0c0c0c0c0" not in runs  # of an older cluster of this name


def test_another_log_of_parallelcluster(say: Say) -> None:
    code, out, _ = say("logs", "pc", "parallelcluster", "--log", "slurmctld")
    assert (code, "slurmctld version 24.05.8 started" in out) == (0, True)
    code, _, err = say("logs", "pc", "parallelcluster", "--log", "slurmdbd")
    assert (code, "LF1123" in err, "cfn-init, cloud-init-output, slurmctld" in err) == (1, True, True)


def test_a_parallelcluster_that_never_was_is_reported(say: Say) -> None:
    code, _, err = say("logs", "other", "parallelcluster")
    assert (code, "LF1121" in err) == (1, True)


def test_why_a_task_stopped_is_reported_after_ecs_has_forgotten_it(say: Say) -> None:
    code, out, _ = say("logs", "inference-talk", "service")
    assert code == 1
    assert "EssentialContainerExited" in out
    assert "Essential container in task exited; server: exit code 137, OutOfMemoryError: container killed" in out


def test_the_lines_of_a_container(say: Say) -> None:
    code, out, _ = say("logs", "inference-talk", "service", "--group", "tgi")
    assert (code, "loading the model" in out) == (0, True)
    code, _, err = say("logs", "inference-talk", "service", "--group", "vllm")
    assert (code, "LF1123" in err) == (1, True)
