"""Converts another file to a fleet file: reads it, fixes values, writes YAML."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from llm_fleet.cli.importing.hyperpod_request import Mender, read_request, translate
from llm_fleet.cli.importing.parallelcluster_file import read_parallelcluster, translate_parallelcluster
from llm_fleet.cli.importing.translation import Note, NoteKind, Notes, Requested, Translation
from llm_fleet.fleet_file.document import plain_scalar
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./%+-]*( [A-Za-z0-9_./%+-]+)*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def to_yaml(values: Mapping[str, Any], *, heading: str, comments: Mapping[tuple[str, ...], str]) -> str:
    """Return the text of a fleet file; each of `comments` is above the key of its path."""
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    lines += _mapping(values, (), comments)
    return "\n".join(lines) + "\n"


def _mapping(
    values: Mapping[str, Any], path: tuple[str, ...], comments: Mapping[tuple[str, ...], str]
) -> Iterator[str]:
    indent = "  " * len(path)
    for key, value in values.items():
        at = (*path, key)
        if not path:
            yield ""
        if at in comments:
            yield from (f"{indent}# {line}" for line in comments[at].splitlines())
        name = _name(key)
        if isinstance(value, Mapping) and value:
            yield f"{indent}{name}:"
            yield from _mapping(cast(Mapping[str, Any], value), at, comments)
        else:
            yield f"{indent}{name}: {_value(value)}"


def _name(key: str) -> str:
    return key if _KEY.fullmatch(key) and plain_scalar(key) == key else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, cast(list[Any], value)))}]"
    if isinstance(value, Mapping):
        entries = cast(Mapping[str, Any], value).items()
        return "{" + ", ".join(f"{_name(key)}: {_value(inner)}" for key, inner in entries) + "}"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and plain_scalar(value) == value else json.dumps(value)
    return json.dumps(value)


_ROLES = {
    "controller": "Runs Slurm's daemons; a cluster has exactly one, with one node.",
    "login": "Where users log in.",
    "compute": "Runs the jobs.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A fleet file, and notes about the conversion."""

    text: str
    notes: tuple[Note, ...]

    @property
    def not_understood(self) -> int:
        """Number of unknown keys that were left out."""
        return sum(note.kind is NoteKind.NOT_UNDERSTOOD for note in self.notes)


class ImportFailure(FleetError):
    """A request that cannot be converted; `notes`: the conversions before the error."""

    def __init__(self, error: FleetError, notes: Notes) -> None:
        """Keep the problems of `error`."""
        super().__init__(error.problems, subject=error.subject)
        self.notes = tuple(notes.notes)


def import_request(
    path: Path,
    *,
    name: str | None = None,
    region: str | None = None,
    zones: tuple[str, ...] = (),
    vpc: str | None = None,
) -> Imported:
    """Return the fleet file for the request at `path`.

    Raises `ImportFailure` with all problems; those of the resulting fleet file have its keys.
    """
    notes = Notes()
    try:
        requested = Requested(stem=path.stem, name=name, region=region, zones=zones, vpc=vpc)
        translation = _translate(path, requested, notes)
        if translation.problems:
            raise FleetError(translation.problems, subject=str(path))
        text = to_yaml(translation.fleet, heading=_heading(path), comments=_comments(translation.fleet))
        parse_fleet(text, subject=f"the fleet file for {path}")
    except FleetError as error:
        raise ImportFailure(error, notes) from None
    return Imported(text=text, notes=tuple(notes.notes))


def _translate(path: Path, requested: Requested, notes: Notes) -> Translation:
    configuration = read_parallelcluster(path, notes)
    if configuration is not None:
        return translate_parallelcluster(configuration, requested, notes)
    mender = Mender(notes=notes)
    request = mender.request(read_request(path))
    return translate(request, requested, notes) if not mender.problems else Translation(problems=mender.problems)


def _heading(path: Path) -> str:
    return (
        f"Made from {path.name} by `llm-fleet import`. Missing keys have their defaults;\n"
        "`llm-fleet schema` lists them all, `llm-fleet validate` checks what you change."
    )


def _comments(fleet: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    comments: dict[tuple[str, ...], str] = {}
    if fleet["network"] == "none":
        comments[("network",)] = (
            "SageMaker's own network. For FSx for Lustre write {az: <AZ id>}, which creates a VPC,\n"
            "and storage: {fsx: {size: 4800 GiB, throughput: 250 MB/s/TiB}}."
        )
    for name, cluster in fleet["clusters"].items():
        for group, config in cluster.get("groups", {}).items():
            comments[("clusters", name, "groups", group)] = _ROLES[config["role"]]
    return comments
