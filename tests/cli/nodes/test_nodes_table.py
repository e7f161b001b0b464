"""The table of nodes in AWS and Slurm, with two thousand nodes, and `--watch`."""

from collections.abc import Iterator
from typing import Any

import pytest

from llm_fleet.catalog.aws_api import ApiRate
from llm_fleet.cli.clients import AwsClients, AwsRefusal
from llm_fleet.cli.nodes import list_nodes
from llm_fleet.cli.nodes.list_nodes import listing_of
from llm_fleet.cli.nodes.node import Node, NodeRole, Pace
from llm_fleet.cli.nodes.nodes_table import NodeRow, NodesView, look, rows_of, watch
from llm_fleet.cli.nodes.slurm_view import SlurmView, ask_slurm, expanded, read_slurm
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.screen import Screen
from llm_fleet.rules.feature_codes import CommandCode, NodesCode
from llm_fleet.rules.problem import Problem
from tests.cli.canned_account import CannedAccount
from tests.cli.counted_calls import calls_of
from tests.cli.nodes.made_nodes import hyperpod_answers, listing, node
from tests.cli.refused import code_of
from tests.pains.reported import reported


def slurm(*nodes: str, jobs: tuple[str, ...] = (), addresses: tuple[str, ...] = ()) -> SlurmView:
    return read_slurm(["# nodes", *nodes, "# jobs", *jobs, "# addresses", *addresses])


def joined(one: Node, *nodes: str, **more: tuple[str, ...]) -> NodeRow:
    return rows_of(listing(one), slurm(*nodes, **more))[0]


def of(one: Node, state: str, reason: str = "none") -> str:
    return f"{one.name}|{one.name}|{state}|{reason}"


@pytest.mark.parametrize(
    ("hostlist", "names"),
    [
        ("login", ["login"]),
        ("ip-10-1-2-[3-5,9],login", ["ip-10-1-2-3", "ip-10-1-2-4", "ip-10-1-2-5", "ip-10-1-2-9", "login"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("r[1-2]n[7,9]", ["r1n7", "r1n9", "r2n7", "r2n9"]),
        ("trn1-dy-node-[1-2]", ["trn1-dy-node-1", "trn1-dy-node-2"]),
        ("", []),
    ],
)
def test_a_hostlist_is_expanded(hostlist: str, names: list[str]):
    assert expanded(hostlist) == names


@pytest.mark.parametrize(
    ("status", "state", "words"),
    [
        ("Running", "down*", "Running in AWS, but down* in Slurm"),
        ("Running", "unknown*", "Running in AWS, but unknown* in Slurm"),
        ("Running", "idle*", "Running in AWS, but idle* in Slurm"),
        ("Running", "idle~", "running in AWS, but powered down in Slurm (idle~)"),
        ("Failure", "allocated", "Failure in AWS, but Slurm schedules jobs on it (allocated)"),
        ("SystemUpdating", "idle", "SystemUpdating in AWS, but Slurm schedules jobs on it (idle)"),
        ("Running", "idle", ""),
        ("Running", "mixed", ""),
        ("Running", "drained", ""),
        ("Failure", "down", ""),
        ("Pending", "idle~", ""),
    ],
)
def test_differences_between_aws_and_slurm_are_reported(status: str, state: str, words: str):
    one = node(status=status)
    assert joined(one, of(one, state)).differs == words


def test_without_a_running_controller_slurm_is_not_queried():
    nodes = listing(node("controller", status="Pending", role=NodeRole.CONTROLLER), node())
    requested = code_of(lambda: ask_slurm(nodes, "us-west-2"), match="controller-1 is Pending")
    assert requested is NodesCode.SLURM_SILENT


def test_a_reason_in_slurm_may_contain_any_text():
    one = node()
    row = joined(one, of(one, "drained", "Action:Replace | by ada [root@2026-11-20]"))
    assert row.said == "Action:Replace | by ada [root@2026-11-20]"
    assert not row.is_bad


def test_a_node_that_is_missing_in_slurm_is_reported():
    assert joined(node()).differs == "Running in AWS, but not in Slurm"
    assert joined(node("controller", role=NodeRole.CONTROLLER)).differs == ""


def test_a_node_that_is_only_in_slurm_has_a_row_unless_it_is_powered_down():
    rows = rows_of(listing(), slurm("q-st-a-1|q-st-a-1|idle|none", "q-dy-a-1|q-dy-a-1|idle~|none"))
    assert [row.differs for row in rows] == ["Slurm has it as idle, but it does not exist in AWS"]


def test_nodes_are_joined_by_name_address_and_the_controllers_addresses():
    by_address = node(name=None)
    assert joined(by_address, f"q-st-a-1|{by_address.address}|idle|none").slurm is not None
    unknown = node(name=None, address=None)
    pair = f"{unknown.instance_id}|10.9.9.9"
    assert joined(unknown, "ip-10-9-9-9|ip-10-9-9-9|idle|none", addresses=(pair,)).slurm is not None
    assert joined(unknown, "ip-10-9-9-9|ip-10-9-9-9|idle|none").slurm is None


def test_jobs_are_shown_with_their_nodes_and_reported_on_a_login_node():
    worker, login = node(), node("login", role=NodeRole.LOGIN)
    view = slurm(of(worker, "allocated"), of(login, "allocated"), jobs=(f"42|ada|{worker.name},{login.name}",))
    first, second = rows_of(listing(worker, login), view)
    assert first.slurm is not None
    assert (first.slurm.jobs, first.differs) == (("42 ada",), "")
    reported(18, second.said, "a job runs on a login node")


@pytest.mark.parametrize("lines", [[], ["slurm_load_node: error"], ["# nodes", "ip-10-1-2-3 idle"]])
def test_unreadable_output_of_slurm_is_reported(lines: list[str]):
    assert code_of(lambda: read_slurm(lines)) is NodesCode.SLURM_UNREADABLE


PLACE = Place(kind=Kind.HYPERPOD, name="ml-cluster", region="us-west-2")
NODES = 2000
CALLS_A_NODE = 600
"""Calls of Python and C functions per node. Measured: 420, half of them botocore's; with rich's table 2,790."""


class Clock:
    """Time that passes only in `sleep`."""

    def __init__(self) -> None:
        self.now = 100.0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock of each `Pace`."""
    made = Clock()

    def paced(rate: ApiRate) -> Pace:
        return Pace(rate, clock=made.time, sleep=made.sleep)

    monkeypatch.setattr(list_nodes, "Pace", paced)
    return made


def slurm_lines(count: int) -> list[str]:
    """Slurm's output for these nodes and a controller, with one job on all nodes."""
    hosts = [f"ip-10-1-{number // 250}-{number % 250}" for number in range(count + 1)]
    nodes = [f"{host}|{host}|{'allocated' if number else 'idle'}|none" for number, host in enumerate(hosts)]
    jobs = [f"{part}|ada|ip-10-1-{part}-[0-249]" for part in range(count // 250)]
    return ["# nodes", *nodes, *nodes, "# jobs", *jobs, "# addresses"]


def test_two_thousand_nodes_are_listed_with_few_calls_per_node(clock: Clock, monkeypatch: pytest.MonkeyPatch):
    def show(count: int) -> tuple[CannedAccount, str]:
        aws, lines = CannedAccount(hyperpod_answers(count)).lives(monkeypatch), slurm_lines(count)
        monitoring = look(listing_of(AwsClients(region="us-west-2"), PLACE), lambda _: read_slurm(lines))
        return aws, monitoring.text(Screen(width=120, color=True, live=True))

    few, many = (calls_of(lambda count=count: show(count)) for count in (100, 500))
    assert many - few < CALLS_A_NODE * 400
    clock.now = 100.0
    aws, text = show(NODES)
    assert len(text.splitlines()) > NODES
    assert f"ml-cluster: {NODES + 1} nodes: {NODES + 1} Running" in text
    assert [one for one, _ in aws.requested] == ["DescribeCluster"] + ["ListClusterNodes"] * 21
    assert {requested["MaxResults"] for one, requested in aws.requested if one == "ListClusterNodes"} == {100}
    # 21 calls at 4 per second; the bucket allows the first 8 immediately.
    assert clock.now - 100.0 == pytest.approx((21 - 8) / 4)


def test_no_second_has_more_calls_than_the_rate_and_the_bucket():
    clock = Clock()
    pace = Pace(ApiRate(burst=3, per_second=3), clock=clock.time, sleep=clock.sleep)
    at: list[float] = []
    for _ in range(30):
        pace.take()
        at.append(clock.now)
    assert at[2] == at[0]
    assert all(sum(begin <= one < begin + 1 for one in at) <= 6 for begin in at)
    assert at[-1] - at[0] == pytest.approx(27 / 3)
    assert pace.waited == pytest.approx(27 / 3)


def test_a_call_after_a_pause_does_not_wait():
    clock = Clock()
    pace = Pace(ApiRate(burst=1, per_second=2), clock=clock.time, sleep=clock.sleep)
    pace.take()
    clock.sleep(10)
    pace.take()
    assert pace.waited == 0


def test_nodes_without_an_instance_are_listed_only_with_continuous_provisioning(
    monkeypatch: pytest.MonkeyPatch,
):
    for mode, wanted in (({}, None), ({"NodeProvisioningMode": "Continuous"}, True)):
        more: dict[str, Any] = mode
        aws = CannedAccount(hyperpod_answers(1, **more)).lives(monkeypatch)
        listing_of(AwsClients(region="us-west-2"), PLACE)
        assert aws.requested[1][1].get("IncludeNodeLogicalIds") is wanted


def refused(code: CommandCode) -> AwsRefusal:
    return AwsRefusal([Problem(code=code, message="Rate exceeded", remedy="wait")], subject="x")


def watched(*looks: NodesView | AwsRefusal) -> BaseException:
    """Run `watch` with these results of queries, then press Ctrl-C; return the exception."""
    left: Iterator[NodesView | AwsRefusal] = iter(looks)

    def one() -> NodesView:
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


def test_throttling_is_retried_and_expired_credentials_are_not(capsys: pytest.CaptureFixture[str]):
    monitoring = look(listing(node()), None)
    assert isinstance(watched(monitoring, refused(CommandCode.THROTTLED), monitoring), KeyboardInterrupt)
    assert "not updated: Rate exceeded" in capsys.readouterr().out
    assert isinstance(watched(monitoring, refused(CommandCode.EXPIRED), monitoring), AwsRefusal)


def test_nodes_that_need_attention_are_first_if_the_end_is_cut_off():
    monitoring = look(listing(node(index=1), node(index=2, status="Failure")), None)
    lines = monitoring.top(Screen(width=150, color=False, live=True)).splitlines()
    assert lines[0].startswith("ml-cluster: 2 nodes")
    assert lines[2].startswith("trn1-2")


def test_texts_of_aws_have_no_control_characters():
    monitoring = look(
        listing(node(status="Failure", message="\x1b[2Jgone\nand more"), message="\x1b]0;x\x07whole"), None
    )
    text = monitoring.text(Screen(width=None, color=False, live=False))
    assert "\x1b" not in text
    assert text.splitlines()[0].endswith("  MESSAGE")
    assert "[2Jgone and more" in text


@pytest.mark.parametrize(("width", "columns"), [(None, 2), (150, 2), (90, 0)])
def test_a_terminal_of_medium_width_shows_the_most_important_columns(width: int | None, columns: int):
    text = look(listing(node()), None).text(Screen(width=width, color=False, live=False))
    assert text.splitlines()[0].split()[1:].count("INSTANCE") + text.splitlines()[0].split().count("TYPE") == columns
    assert "trn1-1" in text
