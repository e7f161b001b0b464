"""Shared by both importers: options of the command, notes about conversions, values, the Region."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from llm_fleet.catalog.network import region_of_az_id, regions
from llm_fleet.fleet_file.check_fleet import fleet_name_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


class NoteKind(StrEnum):
    """Kind of a note."""

    FIXED = "fixed"
    """A wrong value was fixed."""
    CHOSEN = "chosen"
    """A value that the request does not set was set."""
    LEFT_OUT = "left out"
    """A value that a fleet file does not support."""
    NOT_UNDERSTOOD = "not understood"
    """An unknown key, maybe misspelled: its value is missing in the fleet file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One line of the notes."""

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.text}"


@dataclass(slots=True)
class Notes:
    """The notes in their order, each once."""

    notes: list[Note] = field(default_factory=list[Note])

    def repaired(self, text: str) -> None:
        """Add a note about a fixed value."""
        self._add(NoteKind.FIXED, text)

    def chosen(self, text: str) -> None:
        """Add a note about a value that the request does not set."""
        self._add(NoteKind.CHOSEN, text)

    def left_out(self, text: str) -> None:
        """Add a note about a value that is not in the fleet file, with the reason."""
        self._add(NoteKind.LEFT_OUT, text)

    def not_understood(self, text: str) -> None:
        """Add a note about an unknown key, maybe a typo."""
        self._add(NoteKind.NOT_UNDERSTOOD, text)

    def _add(self, kind: NoteKind, text: str) -> None:
        note = Note(kind=kind, text=text)
        if note not in self.notes:
            self.notes.append(note)


_ARN_REGION = re.compile(r"arn:[a-z-]+:(?:sagemaker|secretsmanager|kms):([a-z0-9-]+):")
_DNS_REGION = re.compile(r"\.fsx\.([a-z0-9-]+)\.amazonaws")
_ENVIRONMENT = ("AWS_REGION", "AWS_DEFAULT_REGION")


def report_region(
    request: Mapping[str, Any], requested: str | None, zones: Sequence[str], notes: Notes, problems: list[Problem]
) -> str:
    """Return the Region: of `--region`, else of the AZs, else of ARNs in the request, else of the environment."""
    if requested is not None:
        return requested
    found = [(region_of_az_id(zones[0]), "the AZ")] if zones else []
    found += [(region, "an ARN or a host name in the request") for region in _regions_in(request)]
    found += [(os.environ.get(name), name) for name in _ENVIRONMENT]
    for region, source in found:
        if region is not None and region in regions():
            notes.chosen(f"the Region is {region}, from {source}: a request does not have a Region")
            return region
    problems.append(
        Problem(
            code=Code.REQUEST_REGION,
            message="the Region is unknown: a request does not have one",
            remedy="add the Region of the cluster, e.g. `--region us-west-2`",
            allowed=", ".join(regions()),
        )
    )
    return ""


def _regions_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _ARN_REGION.findall(value)
        yield from _DNS_REGION.findall(value)
    elif isinstance(value, Mapping):
        for member in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _regions_in(member)
    elif isinstance(value, list):
        for member in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _regions_in(member)


_SHORT = 30
"""Longest file name that becomes a cluster's name: with accounting, ParallelCluster allows few more characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """Options of the command."""

    stem: str
    """File name without its suffix: if it is short, it becomes the name of a cluster without a name."""
    name: str | None = None
    """Name of the cluster."""
    region: str | None = None
    zones: Sequence[str] = ()
    vpc: str | None = None

    def cluster_name(self, written: str, notes: Notes) -> str:
        """Return the cluster's name; `written`: its name in the request, empty if it has none."""
        if self.name is not None:
            if written not in ("", self.name):
                notes.repaired(f"ClusterName {written} is replaced by {self.name} of --name")
            return self.name
        if written:
            return written
        after_file = fleet_name_of(self.stem)
        if after_file and len(self.stem) <= _SHORT:
            notes.chosen(f"the cluster's name is {after_file}, from the file name; use --name for another one")
            return after_file
        notes.chosen(
            "the cluster's name is `cluster`, because the file name is not a short name; use --name for another one"
        )
        return "cluster"


@dataclass(slots=True)
class Translation:
    """The fleet file's values, or the problems."""

    fleet: dict[str, Any] = field(default_factory=dict[str, Any])
    problems: list[Problem] = field(default_factory=list[Problem])


def without_none(**keys: Any) -> dict[str, Any]:
    """Return the keys that have a value; `type_` becomes `type`."""
    return {key.rstrip("_"): value for key, value in keys.items() if value is not None and value not in ([], {})}


def number(value: Any) -> Any:
    """Return a number for text; ParallelCluster reads `"4"` as 4."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value


def truth(value: Any) -> Any:
    """Return a boolean for text, as ParallelCluster reads it."""
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def amount(value: Any, unit: str) -> str | None:
    """Return a number with its unit."""
    return None if value is None else f"{value} {unit}"


def unless(value: Any, default: Any) -> Any:
    """Return `value`, or `None` if it is the default."""
    return None if value == default else value


def ask_for_zones(subnets: Sequence[str], which: str, path: tuple[str, ...]) -> Problem:
    """Return the problem of existing subnets without VPC and AZs; `which` names their file."""
    return Problem(
        code=Code.REQUEST_SHAPE,
        message=f"the VPC and the AZ of each subnet are required, and {which} does not have them",
        remedy=f"add `--vpc` with the VPC's id, and `--az` with the AZ id of each subnet ({', '.join(subnets)}); "
        f"`aws ec2 describe-subnets --subnet-ids {' '.join(subnets)} "
        "--query 'Subnets[].[SubnetId,VpcId,AvailabilityZoneId]'` shows them",
        path=path,
        value=list(subnets),
    )
