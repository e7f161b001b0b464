"""Reads a fleet file."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from llm_fleet.fleet_file.check_fleet import check_fleet
from llm_fleet.fleet_file.check_nodes import check_script_files
from llm_fleet.fleet_file.clusters import LOCAL_ACCOUNTING, is_parallelcluster, no_fleet_file
from llm_fleet.fleet_file.document import LocatedProblem, parse, read_text
from llm_fleet.fleet_file.explain import explain
from llm_fleet.fleet_file.fleet import NO_NETWORK, Fleet
from llm_fleet.fleet_file.repair import repair
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import FleetError, PathPart, Problem
from llm_fleet.spec import spec
from llm_fleet.spec.model import OWN_KEY, as_written

_Change = Callable[[Any], Any]


def in_long_form(data: dict[str, Any]) -> dict[str, Any]:
    """Return `data` with each short form written out; what is of another form stays as it is."""
    read = {**data, "network": None} if data.get("network") == NO_NETWORK else data
    read = _under(read, "clusters", _each(_cluster))
    return cast("dict[str, Any]", spec.in_long_form(Fleet, read))


def _cluster(cluster: Any) -> Any:
    if _is_parallelcluster(cluster):
        return cluster  # Its head node has no database of its own.
    return _under(cluster, "accounting", lambda written: None if written == LOCAL_ACCOUNTING else written)


def _is_parallelcluster(cluster: Any) -> bool:
    return isinstance(cluster, dict) and cast("dict[str, Any]", cluster).get("kind") == "parallelcluster"


def _under(holder: Any, key: str, change: _Change) -> Any:
    """Return `holder` with `change` made to what lies under `key`; as it is where nothing does."""
    if not isinstance(holder, dict) or key not in holder:
        return holder  # pyright: ignore[reportUnknownVariableType]
    given = cast("dict[str, Any]", holder)
    return {**given, key: change(given[key])}


def _each(change: _Change) -> _Change:
    """Return the change of a mapping that makes `change` to each of its entries."""

    def of_entries(entries: Any) -> Any:
        if not isinstance(entries, dict):
            return entries
        return {name: change(entry) for name, entry in cast("dict[str, Any]", entries).items()}

    return of_entries


_ROUNDS = 3
"""A mended value can uncover one more mistake around it; none was seen to need a third round."""

_MENDED = frozenset(Code) - {Code.DUPLICATE_KEY}
"""Of a key written twice, the first value is the user's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What could be made of a fleet file."""

    fleet: Fleet | None
    """The fleet; mended, so only good for judging the rest, when there are problems. `None` when past mending."""
    problems: list[Problem]

    def is_known(self, finding: Problem) -> bool:
        """Return whether `finding` is about what the user wrote, not about what was mended."""
        path = finding.path
        mended = [problem.path for problem in self.problems if problem.code in _MENDED]
        return not any(path[: len(other)] == other or other[: len(path)] == path for other in mended)


def build(data: dict[str, Any], problems: list[Problem]) -> Built:
    """Return the fleet that `data` describes, with all that is wrong with its form next to `problems`."""
    found = list(problems)
    for _ in range(_ROUNDS):
        try:
            # As JSON, strict typing takes lists for tuples and words for choices, but still no "4" for 4.
            data = in_long_form(data)
            return Built(fleet=Fleet.model_validate_json(json.dumps(data)), problems=found)
        except ValidationError as error:
            details = error.errors(include_url=False)
            told = {problem.path for problem in found}
            found += [problem for problem in map(explain, details) if problem.path not in told]
            data = repair(data, details)
    return Built(fleet=None, problems=found)


def load_fleet(path: Path | str) -> Fleet:
    """Return the fleet of the file at `path`.

    Raises `FleetError` with every mistake in it at once, each a `LocatedProblem` with path, value, line and remedy.
    """
    return parse_fleet(read_text(Path(path)), subject=str(path), directory=Path(path).parent)


def parse_fleet(text: str, *, subject: str = "fleet.yaml", directory: Path | None = None) -> Fleet:
    """Return the fleet that `text` describes; `subject` names it in errors. Raises as `load_fleet` does.

    `directory` is where relative paths in it begin. Default: the current one, and nothing is looked for there.
    """
    document = parse(text, subject=subject)
    if is_parallelcluster(document.data):
        told = no_fleet_file(document.data, subject)
        raise FleetError([document.locate(problem) for problem in told], subject=subject)
    built = build(document.data, document.problems)
    problems = list(built.problems)
    if built.fleet is not None:
        built.fleet.stand_in(directory)
        judged = [*check_fleet(built.fleet), *_check_files(built.fleet, directory)]
        found = [replace(problem, path=as_written(Fleet, _with_kind(problem.path, built.fleet))) for problem in judged]
        found = [_without_own_key(problem) for problem in found if built.is_known(problem)]
        if built.problems or found:
            from llm_fleet.fleet_file.consequences import without_consequences

            problems += without_consequences(built.problems, found)
    located = [document.locate(problem) for problem in problems]
    if built.fleet is None or located:
        raise FleetError(sorted(located, key=_place), subject=subject)
    return built.fleet


def _check_files(fleet: Fleet, directory: Path | None) -> list[Problem]:
    if directory is None:
        return []
    return check_script_files(fleet)


def _place(problem: LocatedProblem) -> tuple[int, int]:
    return problem.line, problem.column


def _without_own_key(problem: Problem) -> Problem:
    return replace(problem, path=problem.path[:-1]) if problem.path[-1:] == (OWN_KEY,) else problem


def _with_kind(path: tuple[PathPart, ...], fleet: Fleet) -> tuple[PathPart, ...]:
    """Return `path` with the kind of the cluster or server that it leads into, which `as_written` goes by."""
    match path:
        case ("clusters", name, "training", "environments", str(environment), *rest):
            cluster = fleet.clusters[str(name)]
            assert cluster.training is not None
            kind = next(each.kind for each in cluster.training.environments if each.name == environment)
            return ("clusters", name, cluster.kind, "training", "environments", environment, kind, *rest)
        case ("clusters", name, *rest):
            return ("clusters", name, fleet.clusters[str(name)].kind, *rest)
        case ("services", name, "server", *rest):
            return ("services", name, "server", fleet.services[str(name)].server.kind, *rest)
        case _:
            return path
