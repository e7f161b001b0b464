"""Gathers the files of a support bundle: what cannot be had is told in it, and keeps nothing else out."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.bundle.of_machine import machine_pieces
from llm_fleet.cli.bundle.of_place import log_pieces, place_pieces, starts
from llm_fleet.cli.bundle.piece import Found, Piece, written
from llm_fleet.cli.bundle.redact import Redactor
from llm_fleet.cli.place.place import Kind, Place
from llm_fleet.cli.terminal.progress import Step, progress
from llm_fleet.cli.terminal.told_problem import told_problem
from llm_fleet.rules.day_two.command_codes import CommandCode
from llm_fleet.rules.problem import FleetError

if TYPE_CHECKING:
    from llm_fleet.config.fleet import Fleet

MANIFEST = "manifest.json"
_OF_PLACE = ("cluster.json", "service.json", "nodes.json", "starts.json")


@dataclass(slots=True)
class GatheredFiles:
    """What goes into the archive."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    missing: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """What could not be had: `name`, `why` and, where somebody knows one, `remedy`."""
    refused: list[FleetError] = field(default_factory=list[FleetError])
    """Why, of what was asked for."""


def gather_files(
    clients: AwsClients, place: Place, *, fleet: "Fleet | None", file: Path | None, session: bool, redactor: Redactor
) -> GatheredFiles:
    """Return the files, secrets taken out of each, and a manifest that lists them."""
    gathered = GatheredFiles()
    pieces = [*machine_pieces(file, fleet), *place_pieces(clients, place, fleet, session=session)]
    with progress("support bundle", total=len(pieces) + 1) as step:
        _take(gathered, pieces, redactor, step)
        if place.kind is not Kind.SERVICE:
            _take_starts(gathered, clients, place, redactor, step)
    if fleet is None:
        _check_there(gathered)
    manifest = {
        "about": str(place),
        "region": place.region,
        "made": datetime.now(UTC),
        "files": sorted(gathered.files),
        "missing": gathered.missing,
        "secrets": "taken out by their form and by the names that they stand under; see that nothing is left",
    }
    gathered.files[MANIFEST] = written(manifest, redactor)
    return gathered


def _check_there(gathered: GatheredFiles) -> None:
    """Refuse a name that no file and nothing in AWS knows: a bundle of it would have nothing to tell."""
    if any(name in gathered.files for name in _OF_PLACE):
        return
    if "events.json" in gathered.files and json.loads(gathered.files["events.json"])["events"]:
        return
    codes = [problem.code for error in gathered.refused for problem in error.problems]
    if gathered.refused and not any(isinstance(code, CommandCode) and code.is_of_aws for code in codes):
        raise gathered.refused[0]


def _take(gathered: GatheredFiles, pieces: list[Piece], redactor: Redactor, step: Step) -> None:
    for piece in pieces:
        step(said=f"support bundle: {piece.name}")
        try:
            found = piece.find()
            gathered.files[piece.name] = written(found, redactor)
            _tell_parts(gathered, piece.name, found, redactor)
        except FleetError as error:
            gathered.missing.append(_left_out(piece.name, error, redactor))
            gathered.refused.append(error)
        except OSError as error:
            gathered.missing.append({"name": piece.name, "why": (error.strerror or str(error)).lower()})
        step()


def _left_out(name: str, error: FleetError, redactor: Redactor) -> dict[str, str]:
    problem = error.problems[0]
    return {"name": name, "why": redactor.text(problem.message), "remedy": redactor.text(problem.remedy)}


def _tell_parts(gathered: GatheredFiles, name: str, found: Found, redactor: Redactor) -> None:
    """Tell which parts of a file AWS kept."""
    problems: list[Any] = list(found.get("problems", ())) if isinstance(found, dict) else []
    for problem in problems:
        gathered.missing.append({"name": f"{name}, in part", "why": redactor.text(str(problem["message"]))})


def _take_starts(gathered: GatheredFiles, clients: AwsClients, place: Place, redactor: Redactor, step: Step) -> None:
    """Take how the nodes' starts went, and the logs of those that did not go well."""
    try:
        where, told_of = starts(clients, place)
    except FleetError as error:
        gathered.missing.append(_left_out("starts.json", error, redactor))
        gathered.refused.append(error)
        step()
        return
    told: dict[str, Any] = {
        "runs": [run.as_json() for run in told_of.runs],
        "remarks": told_of.remarks,
        "problems": [told_problem(problem) for problem in told_of.problems],
    }
    gathered.files["starts.json"] = written(told, redactor)
    _tell_parts(gathered, "starts.json", told, redactor)
    pieces = log_pieces(clients, where, told_of.runs)
    step(total=len(gathered.files) + len(pieces))
    _take(gathered, pieces, redactor, step)
