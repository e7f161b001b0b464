"""The register of assumptions: what llm-fleet relies on that no service model, resource schema or AWS document proves.

Code, emulator, drill and docs cite an entry where they rely on it, by the text `assumption: <id>`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from llm_fleet.catalog.data_file import load, typed

KINDS = ("document", "code", "report", "analogy", "none")
"""Kinds of evidence: a partial or contradictory document, public code, an issue or field observation, what a similar
service does, or nothing at all."""
SAYS = ("supports", "contradicts")
TIERS = {
    0: "free: API calls, change sets, the policy simulator",
    1: "an hour of small CPU machines",
    2: "one inf2.xlarge",
    3: "the fleet's accelerator nodes",
}
"""What an experiment needs, by its tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing that speaks for or against a claim."""

    kind: str
    """One of `KINDS`."""
    source: str
    """Where it was read: an address, a repository and file, an issue. For `none`: what was searched."""
    date: str
    """ISO date, of the month or year where the day is not known."""
    says: str = ""
    """One of `SAYS`; empty for `none`, which says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """One entry of the register."""

    id: str
    topic: str
    """The data file that holds it."""
    claim: str
    evidence: tuple[Evidence, ...]
    if_wrong: str
    """What happens to the user where the claim is false."""
    design: str
    """What llm-fleet does in that case; where it does not survive it, why not."""
    survives: bool
    """Whether everything that llm-fleet makes comes up, works and can be deleted with either answer, and no person has
    to change anything. A failure with a named code, a rollback and a remedy is a good end, but it is `False`. Less
    speed, a later end, or a choice that is refused at synth where others are left is `True`."""
    experiment: str
    """The cheapest experiment that settles it."""
    tier: int
    """What the experiment needs: a key of `TIERS`."""
    cost: str


def topics() -> tuple[str, ...]:
    """Return the topics in alphabetical order: a data file each."""
    folder = files("llm_fleet.catalog").joinpath("data", "assumptions")
    return tuple(sorted(one.name.removesuffix(".json") for one in folder.iterdir() if one.name.endswith(".json")))


@cache
def assumptions() -> tuple[Assumption, ...]:
    """Return every entry, by topic and in the order of the data file; read once a process.

    Raises `TypeError` for an entry with a key too many or too few.
    """
    return tuple(
        typed(Assumption, row, f"assumptions/{topic}.json[{at}]", topic=topic)
        for topic in topics()
        for at, row in enumerate(load(f"assumptions/{topic}"))
    )


def assumption(name: str) -> Assumption:
    """Return the entry with the id `name`. Raises `KeyError` where there is none."""
    return _by_id()[name]


@cache
def _by_id() -> Mapping[str, Assumption]:
    return {one.id: one for one in assumptions()}
