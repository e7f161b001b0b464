"""`logs --node` and `events --node` take what `nodes` shows, and the id of a node that is gone."""

import pytest

from tests.cli.canned_account import CannedAccount
from tests.cli.day_two.conftest import Say

ID = "i-00000000000000000"


@pytest.mark.parametrize("asked", ["controller-1", "controller", ID])
def test_the_lines_of_a_node_by_any_name(say: Say, hyperpod: CannedAccount, asked: str) -> None:
    code, out, err = say("logs", "ml-cluster", "--kind", "hyperpod", "--node", asked)
    assert (code, "LFN31" in out) == (1, True), err


@pytest.mark.parametrize("asked", ["controller-1", ID])
def test_the_events_of_a_node_by_any_name(say: Say, hyperpod: CannedAccount, asked: str) -> None:
    code, _, err = say("events", "ml-cluster", "--kind", "hyperpod", "--node", asked)
    assert code == 0, err
    assert [request.get("NodeId") for name, request in hyperpod.asked if name == "ListClusterEvents"] == [ID]


def test_a_node_that_is_no_longer_listed_is_told_of_by_its_id(say: Say, hyperpod: CannedAccount) -> None:
    hyperpod.says(ListClusterNodes={"ClusterNodeSummaries": []})
    code, out, err = say("logs", "ml-cluster", "--kind", "hyperpod", "--node", ID)
    assert (code, "LFN31" in out) == (1, True), err


@pytest.mark.parametrize("verb", ["logs", "events"])
def test_a_name_that_no_node_has_is_told_with_those_that_are(say: Say, hyperpod: CannedAccount, verb: str) -> None:
    code, _, err = say(verb, "ml-cluster", "--kind", "hyperpod", "--node", "controller-9")
    assert (code, "LF1101" in err or "LF1102" in err, "controller-1" in err) == (1, True, True), err
