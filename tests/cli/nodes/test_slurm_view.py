"""What sinfo and squeue print is read, and joined with what AWS says."""

import pytest

from llm_fleet.cli.nodes.node import Node, NodeRole, expanded
from llm_fleet.cli.nodes.nodes_table import NodeRow, rows_of
from llm_fleet.cli.nodes.slurm_view import SlurmView, read_slurm
from llm_fleet.rules.day_two.nodes_codes import NodesCode
from llm_fleet.rules.problem import FleetError
from tests.cli.nodes.made_nodes import listing, node
from tests.pains.told import told


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
        ("Running", "down*", "AWS says Running, Slurm says down*"),
        ("Running", "unknown*", "AWS says Running, Slurm says unknown*"),
        ("Running", "idle*", "AWS says Running, Slurm says idle*"),
        ("Running", "idle~", "AWS runs it, and Slurm has powered it down (idle~)"),
        ("Failure", "allocated", "AWS says Failure, and Slurm gives it work (allocated)"),
        ("SystemUpdating", "idle", "AWS says SystemUpdating, and Slurm gives it work (idle)"),
        ("Running", "idle", ""),
        ("Running", "mixed", ""),
        ("Running", "drained", ""),
        ("Failure", "down", ""),
        ("Pending", "idle~", ""),
    ],
)
def test_views_that_contradict_each_other_are_told(status: str, state: str, words: str):
    one = node(status=status)
    assert joined(one, of(one, state)).differs == words


def test_a_reason_may_hold_anything():
    one = node()
    row = joined(one, of(one, "drained", "Action:Replace | by ada [root@2026-11-20]"))
    assert row.said == "Action:Replace | by ada [root@2026-11-20]"
    assert not row.is_bad


def test_a_node_that_slurm_does_not_know_is_told():
    assert joined(node()).differs == "AWS says Running, Slurm does not know it"
    assert joined(node("controller", role=NodeRole.CONTROLLER)).differs == ""


def test_a_node_that_only_slurm_knows_has_a_row_unless_it_is_powered_down():
    rows = rows_of(listing(), slurm("q-st-a-1|q-st-a-1|idle|none", "q-dy-a-1|q-dy-a-1|idle~|none"))
    assert [row.differs for row in rows] == ["Slurm knows it as idle, AWS has no such node"]


def test_nodes_are_joined_by_name_by_address_and_by_what_the_controller_knows():
    by_address = node(name=None)
    assert joined(by_address, f"q-st-a-1|{by_address.address}|idle|none").slurm is not None
    unknown = node(name=None, address=None)
    pair = f"{unknown.instance_id}|10.9.9.9"
    assert joined(unknown, "ip-10-9-9-9|ip-10-9-9-9|idle|none", addresses=(pair,)).slurm is not None
    assert joined(unknown, "ip-10-9-9-9|ip-10-9-9-9|idle|none").slurm is None


def test_jobs_stand_beside_their_nodes_and_on_a_login_node_are_told():
    worker, login = node(), node("login", role=NodeRole.LOGIN)
    view = slurm(of(worker, "allocated"), of(login, "allocated"), jobs=(f"42|ada|{worker.name},{login.name}",))
    first, second = rows_of(listing(worker, login), view)
    assert first.slurm is not None
    assert (first.slurm.jobs, first.differs) == (("42 ada",), "")
    told(18, second.said, "a job runs on a login node")


@pytest.mark.parametrize("lines", [[], ["slurm_load_node: error"], ["# nodes", "ip-10-1-2-3 idle"]])
def test_what_is_in_no_known_form_is_told(lines: list[str]):
    with pytest.raises(FleetError) as caught:
        read_slurm(lines)
    assert caught.value.problems[0].code is NodesCode.SLURM_UNREADABLE
