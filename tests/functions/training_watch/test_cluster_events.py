"""HyperPod's events: published once, with the failure that the event omits; not for scale-in."""

import random
from typing import Any

import pytest

from llm_fleet.functions.training_watch.clusters import ClusterEvent, Parts
from llm_fleet.functions.training_watch.handler import parse_event, serve
from llm_fleet.functions.training_watch.settings import DeployedEnvironment, Settings
from tests.functions.training_watch.day.crashes import Crash, CrashingClient, RunCrash
from tests.functions.training_watch.memory_aws import memory_aws, rejected

EVENT_ID = "83ea0bb5-be77-45e8-a458-0a87f778a205"
ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghijkl"
FAILURE = "We currently do not have sufficient capacity"


class Cluster:
    """A watch that follows one cluster, and the calls of SageMaker that describe its events."""

    def __init__(self) -> None:
        self.raw = memory_aws(lambda: 0.0)
        self.scaling: dict[str, Any] | None = None
        self.rejection: Exception | None = None
        self.raw.sagemaker.describe_cluster_event = self._describe_event
        self.raw.sagemaker.describe_cluster = lambda ClusterName: {"FailureMessage": f"{ClusterName} {FAILURE}"}  # type: ignore[assignment] # pyright: ignore[reportUnknownLambdaType]

    def _describe_event(self, **request: Any) -> Any:
        assert request == {"ClusterName": ARN, "EventId": EVENT_ID}
        if self.rejection:
            raise self.rejection
        metadata = {"InstanceGroupScaling": self.scaling} if self.scaling else {"Instance": {"FailureMessage": FAILURE}}
        return {"EventDetails": {"EventId": EVENT_ID, "EventDetails": {"EventMetadata": metadata}}}

    def serve(self, event: dict[str, Any], run_crash: RunCrash | None = None) -> None:
        deployed_environment = DeployedEnvironment(
            watch="w", table="t", queue_url="q", topic_arn="a", settings=Settings(clusters=("train",))
        )
        clients: Any = self.raw
        if run_crash:
            clients.sns, clients.dynamodb = (
                CrashingClient(clients.sns, run_crash),
                CrashingClient(clients.dynamodb, run_crash),
            )
        serve(Parts(deployed_environment=deployed_environment, clients=clients), event)

    def reported(self) -> list[str]:
        return [message["Message"] for message in self.raw.published()]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def _event(level: str = "Error", *, cluster: str = "train", time: str = "2026-06-01T17:20:25Z") -> dict[str, Any]:
    detail = {
        "EventId": EVENT_ID,
        "ClusterArn": ARN,
        "ClusterName": cluster,
        "InstanceGroupName": "workers",
        "InstanceId": "i-0391f86fa0fe0d465",
        "EventLevel": level,
        "Description": "Instance creation failed",
        "EventDetails": {"EventMetadata": {"Instance": None}},
    }
    return _body("SageMaker HyperPod Cluster Event", {"EventDetails": detail}, time)


def _body(kind: str, detail: dict[str, Any], time: str = "2026-06-01T17:20:25Z") -> dict[str, Any]:
    return {"detail-type": kind, "source": "aws.sagemaker", "time": time, "detail": detail}


def test_the_failure_that_the_event_omits_is_reported(cluster: Cluster) -> None:
    cluster.serve(_event())
    assert len(cluster.reported()) == 1
    for words in ("cluster: train", "level: Error", "Instance creation failed", FAILURE, "group: workers"):
        assert words in cluster.reported()[0]


def test_a_pair_of_events_is_reported_once_and_again_if_repeated_later(cluster: Cluster) -> None:
    cluster.serve(_event())
    cluster.serve(_event(time="2026-06-01T17:22:59Z"))
    assert len(cluster.reported()) == 1
    cluster.serve(_event(time="2026-06-01T18:20:25Z"))
    assert len(cluster.reported()) == 2


def test_an_event_is_reported_by_the_next_run_after_a_crash(cluster: Cluster) -> None:
    with pytest.raises(Crash):
        cluster.serve(_event(), RunCrash(random.Random(0), 0, at=2, kind="before"))
    assert not cluster.reported()
    cluster.serve(_event())
    assert len(cluster.reported()) == 1


def test_other_clusters_and_events_without_a_problem_are_not_reported(cluster: Cluster) -> None:
    cluster.serve(_event(cluster="other"))
    cluster.serve(_event("Info"))
    assert not cluster.reported()
    assert not cluster.raw.items()


@pytest.mark.parametrize(
    ("level", "scaling", "reported"),
    [
        ("Warn", {"InstanceCount": 4, "TargetCount": 2}, 0),
        ("Warn", {"InstanceCount": 2, "TargetCount": 4}, 1),
        ("Warn", {"InstanceCount": 4, "TargetCount": 2, "FailureMessage": FAILURE}, 1),
        ("Error", {"InstanceCount": 4, "TargetCount": 2}, 1),
    ],
)
def test_scale_in_is_recorded_and_not_reported(
    cluster: Cluster, level: str, scaling: dict[str, Any], reported: int
) -> None:
    cluster.scaling = scaling
    cluster.serve(_event(level))
    assert len(cluster.reported()) == reported
    assert len(cluster.raw.items()) == 1


def test_an_event_that_cannot_be_described_is_reported_as_it_is(cluster: Cluster) -> None:
    cluster.rejection = rejected("ValidationException", "only with continuous provisioning")
    cluster.serve(_event())
    assert "Instance creation failed" in cluster.reported()[0]


def test_a_throttled_description_is_requested_again(cluster: Cluster) -> None:
    cluster.rejection = rejected("ThrottlingException")
    with pytest.raises(Exception, match="Throttling"):
        cluster.serve(_event())
    assert not cluster.reported()


def test_a_failed_cluster_is_reported_with_its_failure(cluster: Cluster) -> None:
    detail = {"ClusterName": "train", "ClusterArn": ARN, "ClusterStatus": "Failed", "FailureMessage": None}
    cluster.serve(_body("SageMaker HyperPod Cluster State Change", detail))
    assert f"{ARN} {FAILURE}" in cluster.reported()[0]


def test_an_unhealthy_node_is_reported_with_the_repair_action(cluster: Cluster) -> None:
    health = {"HealthStatus": "Unschedulable", "HealthStatusReason": "XidError", "RepairAction": "Replace"}
    detail = {"ClusterName": "train", "ClusterArn": ARN, "InstanceId": "i-1", "HealthSummary": health}
    cluster.serve(_body("SageMaker HyperPod Cluster Node Health Event", detail))
    assert "node is Unschedulable: XidError: Replace" in cluster.reported()[0]
    assert "instance: i-1" in cluster.reported()[0]


def test_a_cluster_without_a_name_is_reported_by_its_id() -> None:
    event = parse_event(
        _body("SageMaker HyperPod Cluster State Change", {"ClusterArn": ARN, "ClusterStatus": "InService"}),
        alarm_prefix="llm-fleet/w/",
    )
    assert isinstance(event, ClusterEvent)
    assert event.cluster == "abcdefghijkl"
