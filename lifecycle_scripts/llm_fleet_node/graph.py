"""The steps of a node and their order: computed and checked before anything is changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.step import Step


@dataclass(frozen=True)
class Graph:
    """The steps of a node. `needs` and `after` contain only these."""

    steps: dict[str, Step]
    """By name, in an order in which each comes after those that it waits for."""
    needs: dict[str, frozenset[str]]
    """Steps that must be done before a step."""
    after: dict[str, frozenset[str]]
    """Steps that must have ended before a step, successfully or not; includes `needs`."""
    skipped: dict[str, str]
    """Why other steps are skipped, by name."""

    def waves(self) -> list[list[str]]:
        """Return the names in waves: a step waits only for steps of earlier waves."""
        wave: dict[str, int] = {}
        for name in self.steps:
            wave[name] = max((wave[before] + 1 for before in self.after[name]), default=0)
        numbers = range(max(wave.values(), default=-1) + 1)
        return [[name for name in self.steps if wave[name] == number] for number in numbers]

    def loose(self) -> Graph:
        """Return the same steps without dependencies, for a dry run."""
        nothing = dict.fromkeys(self.steps, frozenset[str]())
        return Graph(self.steps, nothing, nothing, self.skipped)

    def with_needs(self, names: Collection[str]) -> frozenset[str]:
        """Return `names` with all their direct and indirect needs."""
        found: set[str] = set()
        left = list(names)
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += self.needs[name]
        return frozenset(found)

    def weights(self) -> dict[str, int]:
        """Return the length of the longest chain of steps that wait for each step; long chains should start first."""
        weight = dict.fromkeys(self.steps, 0)
        for name in reversed(list(self.steps)):
            for before in self.after[name]:
                weight[before] = max(weight[before], weight[name] + 1)
        return weight


def build(
    known: Mapping[str, Step],
    role: str,
    hook: str,
    unwanted: Collection[str] = (),
    not_needed: Callable[[Step], Optional[str]] = lambda _: None,
) -> Graph:
    """Return the graph of the steps in `known` for a node of `role` in `hook`.

    `unwanted` steps are left out, and steps for which `not_needed` returns a reason. Raises `Failure` if a name in
    `unwanted` or `needs` is unknown, if steps wait for each other in a cycle, or if the role has no steps.
    """
    strangers = sorted(set(unwanted) - set(known))
    if strangers:
        fail(Code.STEP_UNKNOWN, f"fleet.json skips the unknown step {', '.join(strangers)} ({_named(known)})")
    skipped = {name: why for name, step in known.items() if (why := _why_not(step, role, hook, unwanted))}
    taken = {name: step for name, step in known.items() if name not in skipped}
    if not taken:
        fail(Code.NO_STEPS, f"the role {role} has no steps in {hook}")
    _check_needs(taken, known)
    for name in _in_order({name: frozenset(step.needs + step.after) for name, step in taken.items()}):
        if why := not_needed(taken[name]):
            skipped[name] = why
    left = {name: step for name, step in taken.items() if name not in skipped}
    needs = {name: frozenset(step.needs) & left.keys() for name, step in left.items()}
    after = {name: needs[name] | frozenset(step.after) & left.keys() for name, step in left.items()}
    return Graph({name: left[name] for name in _in_order(after)}, needs, after, skipped)


def _why_not(step: Step, role: str, hook: str, unwanted: Collection[str]) -> str:
    if role not in step.roles:
        return f"not for the role {role}"
    if hook not in step.hooks:
        return f"not in {hook}"
    return "skipped in fleet.json" if step.name in unwanted else ""


def _check_needs(taken: Mapping[str, Step], known: Mapping[str, Step]) -> None:
    unmet = [f"{name} needs {need}" for name, step in taken.items() for need in step.needs if need not in known]
    if unmet:
        fail(Code.NEED_UNKNOWN, f"{'; '.join(unmet)}, which is not a step ({_named(known)})")


def _in_order(after: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the names in topological order, otherwise in the given order."""
    order: list[str] = []
    left = dict(after)
    while left:
        free = [name for name, before in left.items() if not before & left.keys()]
        if not free:
            fail(Code.DEPENDENCY_CYCLE, f"steps wait for each other in a cycle: {' -> '.join(_circle(left))}")
        order += free
        for name in free:
            del left[name]
    return order


def _circle(left: Mapping[str, frozenset[str]]) -> list[str]:
    """Return one cycle, with its first name repeated at the end. Each of `left` waits for another of `left`."""
    path = [min(left)]
    while True:
        following = min(left[path[-1]] & left.keys())
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)


def _named(known: Collection[str]) -> str:
    return f"known steps: {', '.join(sorted(known))}"
