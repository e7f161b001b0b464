"""The table of nodes: two thousand of them, and `--watch`."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from llm_fleet.catalog.aws_api import ApiRate
from llm_fleet.cli.aws.clients import AwsRefusal
from llm_fleet.cli.nodes import list_nodes
from llm_fleet.cli.nodes.list_nodes import listing_of
from llm_fleet.cli.nodes.node import Pace
from llm_fleet.cli.nodes.nodes_table import Sight, look, watch
from llm_fleet.cli.nodes.slurm_view import read_slurm
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.terminal.screen import Screen
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import Problem
from tests.cli.nodes.made_nodes import CannedAws, hyperpod_answers, listing, node

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

    monkeypatch.setattr(list_nodes, "Pace", paced)
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


def refused(code: CommandCode) -> AwsRefusal:
    return AwsRefusal([Problem(code=code, message="Rate exceeded", remedy="wait")], subject="x")


def watched(*looks: Sight | AwsRefusal) -> BaseException:
    """Watch so many looks, then type Ctrl-C; return what ended it."""
    left: Iterator[Sight | AwsRefusal] = iter(looks)

    def one() -> Sight:
        found = next(left, None)
        if found is None:
            raise KeyboardInterrupt
        if isinstance(found, AwsRefusal):
            raise found
        return found

    with pytest.raises((KeyboardInterrupt, AwsRefusal)) as caught:
        watch(one, 5, sleep=lambda _: None)
    return caught.value


def test_in_a_pipe_each_table_follows_the_one_before(capsys: pytest.CaptureFixture[str]):
    ended = watched(look(listing(node()), None), look(listing(node(status="Failure")), None))
    assert isinstance(ended, KeyboardInterrupt)
    out = capsys.readouterr().out
    assert out.count("NODE ") == 2
    assert out.index("1 Running") < out.index("1 Failure")
    assert "\x1b" not in out


def test_throttling_is_borne_and_expired_credentials_are_not(capsys: pytest.CaptureFixture[str]):
    sight = look(listing(node()), None)
    assert isinstance(watched(sight, refused(CommandCode.THROTTLED), sight), KeyboardInterrupt)
    assert "AWS was not asked: Rate exceeded" in capsys.readouterr().out
    assert isinstance(watched(sight, refused(CommandCode.EXPIRED), sight), AwsRefusal)


def test_where_the_end_is_cut_off_what_somebody_should_look_at_stands_on_top():
    sight = look(listing(node(index=1), node(index=2, status="Failure")), None)
    lines = sight.top(Screen(width=150, colour=False, live=True)).splitlines()
    assert lines[0].startswith("ml-cluster: 2 nodes")
    assert lines[2].startswith("trn1-2")


def test_what_aws_says_does_not_steer_the_terminal():
    sight = look(listing(node(status="Failure", message="\x1b[2Jgone\nand more"), message="\x1b]0;x\x07whole"), None)
    text = sight.text(Screen(width=None, colour=False, live=False))
    assert "\x1b" not in text
    assert "[2Jgone and more" in text


@pytest.mark.parametrize(("width", "columns"), [(None, 2), (150, 2), (90, 0)])
def test_a_screen_of_medium_width_keeps_what_is_needed_at_night(width: int | None, columns: int):
    text = look(listing(node()), None).text(Screen(width=width, colour=False, live=False))
    assert text.splitlines()[0].split()[1:].count("INSTANCE") + text.splitlines()[0].split().count("TYPE") == columns
    assert "trn1-1" in text
