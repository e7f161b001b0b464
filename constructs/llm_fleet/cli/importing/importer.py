"""Makes a fleet file out of a request or a ParallelCluster configuration, and makes sure that it is a good one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm_fleet.cli.importing.mend import Mender
from llm_fleet.cli.importing.notes import Note, NoteKind, Notes
from llm_fleet.cli.importing.parallelcluster.read import read_parallelcluster
from llm_fleet.cli.importing.parallelcluster.translate import translate_parallelcluster
from llm_fleet.cli.importing.request import read_request
from llm_fleet.cli.importing.to_yaml import to_yaml
from llm_fleet.cli.importing.translate import Asked, Translation, translate
from llm_fleet.config.load import parse_fleet
from llm_fleet.rules.problem import FleetError

_ROLES = {
    "controller": "Runs Slurm's daemons; a cluster has exactly one, of one node.",
    "login": "Where users log in.",
    "compute": "Runs the jobs.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A fleet file, and what there is to say about how it came about."""

    text: str
    notes: tuple[Note, ...]

    @property
    def not_understood(self) -> int:
        """How many keys are not in it because nothing is known by their names."""
        return sum(note.kind is NoteKind.NOT_UNDERSTOOD for note in self.notes)


class ImportFailure(FleetError):
    """A request that no fleet file can be made of; `notes` tell what was done until then."""

    def __init__(self, error: FleetError, notes: Notes) -> None:
        """Take over the problems of `error`."""
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

    Raises `ImportFailure` with everything that keeps it from being one; problems that the fleet file itself would have
    are told by its keys.
    """
    notes = Notes()
    try:
        asked = Asked(stem=path.stem, name=name, region=region, zones=zones, vpc=vpc)
        translation = _translate(path, asked, notes)
        if translation.problems:
            raise FleetError(translation.problems, subject=str(path))
        text = to_yaml(translation.fleet, heading=_heading(path), comments=_comments(translation.fleet))
        parse_fleet(text, subject=f"the fleet file for {path}")
    except FleetError as error:
        raise ImportFailure(error, notes) from None
    return Imported(text=text, notes=tuple(notes.notes))


def _translate(path: Path, asked: Asked, notes: Notes) -> Translation:
    configuration = read_parallelcluster(path, notes)
    if configuration is not None:
        return translate_parallelcluster(configuration, asked, notes)
    mender = Mender(notes=notes)
    request = mender.request(read_request(path))
    return translate(request, asked, notes) if not mender.problems else Translation(problems=mender.problems)


def _heading(path: Path) -> str:
    return (
        f"Made from {path.name} by `llm-fleet import`. Every key that is not here has its default;\n"
        "`llm-fleet schema` lists them all, `llm-fleet validate` checks what you change."
    )


def _comments(fleet: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    comments: dict[tuple[str, ...], str] = {}
    if fleet["network"] == "none":
        comments[("network",)] = (
            "SageMaker's own network. For FSx for Lustre write {az: <AZ id>}, which makes a VPC,\n"
            "and storage: {fsx: {size: 4800 GiB, throughput: 250 MB/s/TiB}}."
        )
    for name, cluster in fleet["clusters"].items():
        for group, config in cluster.get("groups", {}).items():
            comments[("clusters", name, "groups", group)] = _ROLES[config["role"]]
    return comments
