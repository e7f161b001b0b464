"""Commands for deployed clusters, run in this process against a fake AWS in it."""

from collections.abc import Callable
from typing import Any

import pytest

from llm_fleet.cli.main import main
from tests.cli.canned_account import CannedAccount
from tests.cli.nodes.made_nodes import ARN, LAUNCHED, hyperpod_answers
from tests.terminal import type_ctrl_c

Say = Callable[..., tuple[int, str, str]]
WHERE = ("--region", "us-west-2")
STARTED = ["    0.18  OnInitComplete: fleet demo, cluster ml", "    5.32  OnInitComplete: LFN31 after 5.32 s"]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> Say:
    """Run the command in a directory without a fleet file."""
    monkeypatch.chdir(tmp_path)

    def said(*words: str) -> tuple[int, str, str]:
        code = main([*words, *WHERE])
        out, err = capsys.readouterr()
        return code, out, err

    return said


@pytest.fixture
def hyperpod(monkeypatch: pytest.MonkeyPatch) -> CannedAccount:
    """A cluster whose controller failed to start, according to its log."""
    return CannedAccount(hyperpod_account()).lives(monkeypatch)


@pytest.fixture
def ctrl_c(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[float]]:
    """Press Ctrl-C in the n-th pause; returns the pauses."""

    def types(number: int, then: Callable[[int], None] = lambda _: None) -> list[float]:
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            then(len(pauses))
            if len(pauses) == number:
                type_ctrl_c()

        monkeypatch.setattr("time.sleep", sleep)
        return pauses

    return types


def hyperpod_account() -> dict[str, Any]:
    group = {"InstanceGroupName": "controller", "CurrentCount": 1, "TargetCount": 1}
    return {
        **hyperpod_answers(1, NodeProvisioningMode="Continuous", InstanceGroups=[group]),
        "ListClusterEvents": {"Events": []},
        "ListClusterOperations": {"ClusterOperationSummaries": []},
        "DescribeLogGroups": {"logGroups": []},
        "DescribeLogStreams": {"logStreams": [{"logStreamName": "LifecycleConfig/controller/i-00000000000000000"}]},
        "FilterLogEvents": {"events": [line(number, text) for number, text in enumerate(STARTED)]},
        "GetLogEvents": stream(*STARTED),
    }


def line(number: int, text: str) -> dict[str, Any]:
    stream = "LifecycleConfig/controller/i-00000000000000000"
    time = int(LAUNCHED.timestamp() * 1000) + number
    return {"timestamp": time, "message": text, "eventId": str(number), "logStreamName": stream}


def stream(*texts: str) -> dict[str, Any]:
    """An event of GetLogEvents, which has fewer members than FilterLogEvents."""
    lines = [line(number, text) for number, text in enumerate(texts)]
    events = [{"timestamp": one["timestamp"], "message": one["message"]} for one in lines]
    return {"events": events, "nextForwardToken": "f/1"}


def operation(**more: Any) -> dict[str, Any]:
    identifier = "01234567-89ab-cdef-0123-456789abcdef"
    return {"OperationId": identifier, "ClusterArn": ARN, "CreationTime": LAUNCHED, **more}
