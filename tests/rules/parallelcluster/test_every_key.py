"""All keys of ParallelCluster's schema: our check and its own find the same mistakes at the same places."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from llm_fleet.catalog.parallelcluster import SECTION, SchemaKey, parallelcluster_schema
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.configuration import check_configuration
from llm_fleet.rules.problem import PathPart
from llm_fleet_local.parallelcluster.client import Oracle

WRONG_TYPE = {"str": 5, "int": "many", "float": "cheap", "bool": "maybe", "map": "text"}
ANY_TEXT = "qwertyuiop"
LEAVE_OUT = object()
LEGAL = {
    "Instances[]/InstanceType": "c5.4xlarge",
    "Dcv/Enabled": True,
    "HeadNode/Image/CustomAmi": "ami-0123456789abcdef0",
    "Pools[]/Image/CustomAmi": "ami-0123456789abcdef0",
    "SlurmQueues[]/Image/CustomAmi": "ami-0123456789abcdef0",
}
"""Keys for which ParallelCluster's schema raises an exception if their value is wrong or missing."""

Making = Callable[[SchemaKey], Any]


def whole(key: SchemaKey, value_of: Making, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section with every key, with `value_of` of each leaf key, and with `extra` in each section."""
    made: dict[str, Any] = {}
    for name, below in key.keys.items():
        if name == "Sequence":
            continue
        legal = [value for end, value in LEGAL.items() if below.place.endswith(end)]
        value = whole(below, value_of, extra) if below.kind == SECTION else legal[0] if legal else value_of(below)
        if value is not LEAVE_OUT:
            made[name] = [value] if below.many else value
    return {**made, **(extra if key.name != "Instances" else {})}


def wrong_type(key: SchemaKey) -> Any:
    return WRONG_TYPE.get(key.kind, LEAVE_OUT)


def wrong_value(key: SchemaKey) -> Any:
    """Return a value of the right type that the key rejects, if it rejects any."""
    if key.one_of:
        return 77 if key.kind == "int" else ANY_TEXT
    if key.range is not None:
        return key.range.maximum + 1 if key.range.maximum is not None else (key.range.minimum or 0) - 1
    if key.regex is not None:
        return "/../"
    if key.length is not None and not key.many and key.length.maximum is not None:
        return "a" * (key.length.maximum + 1)
    return LEAVE_OUT


def nothing(_: SchemaKey) -> Any:
    return LEAVE_OUT


@pytest.mark.parametrize(
    ("making", "extra", "least"),
    [(wrong_type, {}, 200), (wrong_value, {}, 60), (nothing, {}, 30), (nothing, {"Qwertyuiop": 1}, 80)],
)
def test_both_report_the_same_keys(making: Making, extra: Mapping[str, Any], least: int, oracle: Oracle) -> None:
    configuration = whole(parallelcluster_schema(), making, extra)
    ours = {
        by_position(problem.path)
        for problem in check_configuration(configuration)
        if problem.code is not Code.PC_KEYS_TOGETHER
    }
    theirs = {message.path for message in oracle.schema(configuration)}
    assert {one for one in ours ^ theirs if not follows(one, ours & theirs)} == set()
    assert len(ours & theirs) >= least


def by_position(path: tuple[PathPart, ...]) -> str:
    """Return `path` with items of lists by their position, which is always the first here."""
    key = parallelcluster_schema()
    parts: list[str] = []
    for part in path:
        item = key.many and parts[-1] == key.name
        parts.append("0" if item else str(part))
        key = key if item else key.keys.get(str(part), key)
    return "/".join(parts)


def follows(one: str, others: set[str]) -> bool:
    """Return whether `one` is in a section with a reported problem, at which one of the two checks stops."""
    return any(other.startswith(f"{one}/") or one.startswith(f"{other}/") for other in others)
