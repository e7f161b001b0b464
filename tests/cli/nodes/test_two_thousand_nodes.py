"""2,000 nodes: in few calls, within the pace, and in little time of our own."""

import time
from typing import Any

import pytest

from llm_fleet.catalog.aws_api import ApiRate
from llm_fleet.cli.nodes import hyperpod_nodes
from llm_fleet.cli.nodes.listed_nodes import listing_of
from llm_fleet.cli.nodes.pace import Pace
from llm_fleet.cli.nodes.sight import look
from llm_fleet.cli.nodes.slurm_view import read_slurm
from llm_fleet.cli.place.place import Kind, Place
from llm_fleet.cli.terminal.screen import Screen
from tests.cli.nodes.made_nodes import CannedAws, hyperpod_answers

PLACE = Place(kind=Kind.HYPERPOD, name="ml-cluster", region="us-west-2")
NODES = 2000
SECONDS = 3.0


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def tell(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of every pace, and credentials that nobody looks at."""
    made = Clock()

    def paced(rate: ApiRate) -> Pace:
        return Pace(rate, clock=made.tell, sleep=made.sleep)

    monkeypatch.setattr(hyperpod_nodes, "Pace", paced)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    return made


def slurm_lines() -> list[str]:
    """What Slurm says of them, one job on all."""
    hosts = [f"ip-10-1-{number // 250}-{number % 250}" for number in range(NODES + 1)]
    nodes = [f"{host}|{host}|{'allocated' if number else 'idle'}|none" for number, host in enumerate(hosts)]
    jobs = [f"{part}|ada|ip-10-1-{part}-[0-249]" for part in range(NODES // 250)]
    return ["# nodes", *nodes, *nodes, "# jobs", *jobs, "# addresses"]


def test_they_are_listed_and_joined_in_under_three_seconds_of_our_own(clock: Clock):
    aws = CannedAws(hyperpod_answers(NODES))
    begun = time.process_time()
    listing = listing_of(aws.clients, PLACE)
    sight = look(listing, lambda _: read_slurm(slurm_lines()))
    text = sight.text(Screen(width=120, colour=True, live=True))
    took = time.process_time() - begun
    assert took < SECONDS
    assert len(text.splitlines()) > NODES
    assert f"ml-cluster: {NODES + 1} nodes: {NODES + 1} Running" in text
    assert [one for one, _ in aws.asked] == ["DescribeCluster"] + ["ListClusterNodes"] * 21
    assert {asked["MaxResults"] for one, asked in aws.asked if one == "ListClusterNodes"} == {100}
    # 21 calls at 4 a second, of which a bucket of 8 may come at once.
    assert clock.now - 100.0 == pytest.approx((21 - 8) / 4)


def test_no_second_sees_more_calls_than_the_rate_and_the_bucket():
    clock = Clock()
    pace = Pace(ApiRate(burst=3, per_second=3), clock=clock.tell, sleep=clock.sleep)
    at: list[float] = []
    for _ in range(30):
        pace.take()
        at.append(clock.now)
    assert at[2] == at[0]
    assert all(sum(begin <= one < begin + 1 for one in at) <= 6 for begin in at)
    assert at[-1] - at[0] == pytest.approx(27 / 3)
    assert pace.waited == pytest.approx(27 / 3)


def test_who_waits_by_himself_does_not_wait_again():
    clock = Clock()
    pace = Pace(ApiRate(burst=1, per_second=2), clock=clock.tell, sleep=clock.sleep)
    pace.take()
    clock.sleep(10)
    pace.take()
    assert pace.waited == 0


def test_only_a_cluster_that_provisions_continuously_is_asked_for_nodes_without_a_machine(clock: Clock):
    del clock
    for mode, wanted in (({}, None), ({"NodeProvisioningMode": "Continuous"}, True)):
        more: dict[str, Any] = mode
        aws = CannedAws(hyperpod_answers(1, **more))
        listing_of(aws.clients, PLACE)
        assert aws.asked[1][1].get("IncludeNodeLogicalIds") is wanted
