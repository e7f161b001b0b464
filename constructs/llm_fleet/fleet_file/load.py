"""Reads a fleet file."""

from dataclasses import replace
from pathlib import Path

from llm_fleet.fleet_file.build import build
from llm_fleet.fleet_file.check_script_files import check_script_files
from llm_fleet.fleet_file.checks import check_fleet
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.located import LocatedProblem
from llm_fleet.fleet_file.parallelcluster import is_parallelcluster, no_fleet_file
from llm_fleet.fleet_file.parse import parse
from llm_fleet.fleet_file.read import read_text
from llm_fleet.rules.problem import FleetError, PathPart, Problem
from llm_fleet.spec.shape import OWN_KEY, as_written


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
