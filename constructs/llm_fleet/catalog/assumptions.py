"""The register of assumptions: facts that llm-fleet relies on without proof by an API model, schema or document.

Code, emulator, drill and docs refer to an entry with the text `assumption: <id>`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, cast

from llm_fleet.catalog.data_file import data_files, load, typed

KINDS = ("document", "code", "report", "analogy", "none")
"""Kinds of evidence: a partial or contradictory document, public code, an issue or field observation, a similar
service's behavior, or no evidence."""
SAYS = ("supports", "contradicts")
TIERS = {
    0: "no cost: API calls, change sets, the policy simulator",
    1: "an hour of small CPU machines",
    2: "one inf2.xlarge",
    3: "the fleet's accelerator nodes",
}
"""The resources that an experiment needs, by its tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One piece of evidence for or against a claim."""

    kind: str
    """One of `KINDS`."""
    source: str
    """A URL, a repository and file, or an issue. For `none`: where we searched."""
    date: str
    """ISO date; only the month or year where the day is unknown."""
    says: str = ""
    """One of `SAYS`; empty for `none`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """One entry of the register."""

    id: str
    topic: str
    """The name of its data file."""
    claim: str
    evidence: tuple[Evidence, ...]
    if_wrong: str
    """The consequence for the user if the claim is false."""
    design: str
    """How llm-fleet handles that case, or why it cannot."""
    survives: bool
    """Whether all resources can be created, work and can be deleted whether the claim is true or false, without a
    manual change. A failure with an error code, a rollback and a remedy is acceptable, but it is `False`. A lower
    speed, a later end, or a rejected choice at synth for which alternatives exist is `True`."""
    needed_by: tuple[str, ...]
    """Selectors of resources in templates: a fleet that has one of them depends on the claim.

    `*` selects every fleet, `AWS::FSx::FileSystem` the resources of a type, `AWS::FSx::FileSystem/LustreConfiguration`
    those with a property, `AWS::SageMaker::Cluster/InstanceGroups.InstanceType=ml.trn*` those with a value; `*` in a
    value is any text. A list on the path has a property or value if one of its items has it.
    """
    experiment: str
    """The cheapest experiment that proves or disproves the claim."""
    tier: int
    """The resources that the experiment needs: a key of `TIERS`."""
    cost: str

    def is_needed_by(self, resources: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether a fleet whose templates have these resources depends on the claim."""
        return "*" in self.needed_by or any(_selects(each, one) for one in resources for each in self.needed_by)


def topics() -> tuple[str, ...]:
    """Return the topics in alphabetical order. Each topic has a data file."""
    return tuple(name.removeprefix("assumptions/") for name in data_files("assumptions"))


@cache
def assumptions() -> tuple[Assumption, ...]:
    """Return every entry, by topic, in the order of the data file. Read once in each process.

    Raises `TypeError` for an entry with a missing or an unknown key.
    """
    return tuple(
        typed(Assumption, row, f"assumptions/{topic}.json[{at}]", topic=topic)
        for topic in topics()
        for at, row in enumerate(load(f"assumptions/{topic}"))
    )


def assumption(name: str) -> Assumption:
    """Return the entry with the id `name`. Raises `KeyError` for an unknown id."""
    return _by_id()[name]


@cache
def _by_id() -> Mapping[str, Assumption]:
    return {one.id: one for one in assumptions()}


def _selects(selector: str, resource: Mapping[str, Any]) -> bool:
    place, _, value = selector.partition("=")
    kind, _, path = place.partition("/")
    if resource["Type"] != kind:
        return False
    found = _values(resource.get("Properties", {}), path.split(".") if path else [])
    texts = (one if isinstance(one, str) else json.dumps(one) for one in found)
    return any(fnmatchcase(text, value or "*") for text in texts)


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    """Yield the values at `path` in `value`, in each item of lists."""
    if isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _values(item, path)
    elif not path:
        yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from _values(cast(dict[str, Any], value)[path[0]], path[1:])
