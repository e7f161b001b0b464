"""Which steps a node runs, in which order, and invalid graphs."""

from collections.abc import Callable, Sequence

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.graph import Graph, build
from llm_fleet_node.node import Node
from llm_fleet_node.outcome import Outcome
from llm_fleet_node.step import EVERY_HOOK, EVERY_ROLE, Step
from llm_fleet_node.timeline import slowest_path


def a_step(name: str, needs: str = "", after: str = "", **more: frozenset[str]) -> Step:
    do: Callable[[Node], None] = lambda node: None  # noqa: E731
    reported = {"roles": EVERY_ROLE, "hooks": EVERY_HOOK} | more
    return Step(name, name, reported["roles"], do, do, tuple(needs.split()), tuple(after.split()), reported["hooks"])


def graph(*steps: Step, unwanted: Sequence[str] = ()) -> Graph:
    return build({step.name: step for step in steps}, "Compute", "OnCreate", unwanted)


def test_order_and_waves() -> None:
    made = graph(a_step("c", "b", "d"), a_step("b", "a"), a_step("a"), a_step("d"))
    assert list(made.steps) == ["a", "d", "b", "c"]
    assert made.waves() == [["a", "d"], ["b"], ["c"]]
    assert made.weights() == {"a": 2, "b": 1, "d": 1, "c": 0}
    assert made.with_needs(["c"]) == {"a", "b", "c"}


def test_a_step_of_another_role_or_hook_counts_as_done() -> None:
    made = graph(
        a_step("a", roles=frozenset({"Login"})), a_step("b", "a"), a_step("c", "b", hooks=frozenset({"OnInitComplete"}))
    )
    assert list(made.steps) == ["b"]
    assert made.needs["b"] == frozenset()
    assert made.skipped == {"a": "not for the role Compute", "c": "not in OnCreate"}


def test_skipped_and_unneeded_steps_count_as_done() -> None:
    steps = {step.name: step for step in (a_step("a"), a_step("b"), a_step("c", "a b"))}
    made = build(steps, "Compute", "OnCreate", ["a"], lambda step: "no disk" if step.name == "b" else None)
    assert list(made.steps) == ["c"]
    assert made.skipped == {"a": "skipped in fleet.json", "b": "no disk"}


def test_a_role_can_have_only_unneeded_steps() -> None:
    made = build({"a": a_step("a")}, "Compute", "OnCreate", (), lambda step: "nothing to do")
    assert (made.waves(), made.skipped) == ([], {"a": "nothing to do"})


@pytest.mark.parametrize(
    ("steps", "unwanted", "code", "cause"),
    [
        ([a_step("a")], ["b"], "LFN23", "fleet.json skips the unknown step b (known steps: a)"),
        ([a_step("a", "b"), a_step("c", "d")], [], "LFN24", "a needs b; c needs d, which is not a step"),
        ([a_step("a", "a")], [], "LFN25", "a -> a"),
        ([a_step("a", "c"), a_step("b", "a"), a_step("c", "b")], [], "LFN25", "a -> c -> b -> a"),
        ([a_step("x", "a"), a_step("a", "", "b"), a_step("b", "a")], [], "LFN25", "cycle: a -> b -> a"),
        ([a_step("a", roles=frozenset({"Login"}))], [], "LFN21", "the role Compute has no steps in OnCreate"),
        ([a_step("a")], ["a"], "LFN21", "the role Compute has no steps in OnCreate"),
        ([], [], "LFN21", "the role Compute has no steps in OnCreate"),
    ],
)
def test_invalid_graphs(steps: list[Step], unwanted: list[str], code: str, cause: str) -> None:
    with pytest.raises(Failure) as caught:
        graph(*steps, unwanted=unwanted)
    assert (caught.value.code.code, cause in caught.value.cause) == (code, True), caught.value


def test_a_cycle_of_steps_of_other_nodes_is_ignored() -> None:
    login = frozenset({"Login"})
    made = graph(a_step("a"), a_step("b", "c", roles=login), a_step("c", "b", roles=login))
    assert list(made.steps) == ["a"]


def test_the_slowest_path_is_the_critical_path() -> None:
    made = graph(a_step("a"), a_step("b"), a_step("c", "a b"), a_step("d", "a"), a_step("e"))
    ends = {"a": 2.0, "b": 3.0, "c": 9.0, "d": 8.0, "e": 7.0}
    outcomes = {name: Outcome(made.steps[name], ended=end) for name, end in ends.items()}
    assert slowest_path(made, outcomes) == ["b", "c"]
    assert slowest_path(made, {}) == []
