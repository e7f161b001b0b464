"""What both importers share: what the user asks for beside the file, notes on what was done, values, the Region."""

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
    """What happened to something of the request."""

    FIXED = "mended"
    """It was wrong, and is right now."""
    CHOSEN = "chosen"
    """The request did not say it, or leaves it to the fleet."""
    LEFT_OUT = "left out"
    """It has no place in a fleet file."""
    NOT_UNDERSTOOD = "not understood"
    """It may be misspelled, and is not in the fleet file: the file may say something else than the request meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One line about one thing."""

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.text}"


@dataclass(slots=True)
class Notes:
    """The lines, in the order in which things were met, each once."""

    notes: list[Note] = field(default_factory=list[Note])

    def repaired(self, text: str) -> None:
        """Say that something was wrong and is right now."""
        self._add(NoteKind.FIXED, text)

    def chosen(self, text: str) -> None:
        """Say that something was decided that the request leaves open."""
        self._add(NoteKind.CHOSEN, text)

    def left_out(self, text: str) -> None:
        """Say that something of the request is not in the fleet file, and why."""
        self._add(NoteKind.LEFT_OUT, text)

    def not_understood(self, text: str) -> None:
        """Say that something is not in the fleet file because it is nothing that is known, a typo perhaps."""
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
    """Return the region: as asked, else of the AZs, else as ARNs in the request tell it, else of the environment."""
    if requested is not None:
        return requested
    found = [(region_of_az_id(zones[0]), "the AZ's")] if zones else []
    found += [(region, "that of an ARN or a host name in the request") for region in _regions_in(request)]
    found += [(os.environ.get(name), f"that of {name}") for name in _ENVIRONMENT]
    for region, source in found:
        if region is not None and region in regions():
            notes.chosen(f"the region {region} is {source}: a request does not name its region")
            return region
    problems.append(
        Problem(
            code=Code.REQUEST_REGION,
            message="a request does not name its region, and nothing in it tells it",
            remedy="add `--region` and the region of the cluster, e.g. `--region us-west-2`",
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
"""Characters of a file's name that a cluster is called after: with accounting, ParallelCluster takes few more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """What the user says beside the request."""

    stem: str
    """Name of the request's file, without its ending: where it is short, it names a cluster without a name."""
    name: str | None = None
    """Of the cluster."""
    region: str | None = None
    zones: Sequence[str] = ()
    vpc: str | None = None

    def cluster_name(self, written: str, notes: Notes) -> str:
        """Return how the cluster is called; `written` is its name in the request, empty where it has none there."""
        if self.name is not None:
            if written not in ("", self.name):
                notes.repaired(f"ClusterName {written} is {self.name}, as asked")
            return self.name
        if written:
            return written
        after_file = fleet_name_of(self.stem)
        if after_file and len(self.stem) <= _SHORT:
            notes.chosen(f"the cluster is called {after_file}, after the file; --name gives it another name")
            return after_file
        notes.chosen("the cluster is called cluster: the file's name is no short name; --name gives it another")
        return "cluster"


@dataclass(slots=True)
class Translation:
    """The fleet file's values, or why there are none."""

    fleet: dict[str, Any] = field(default_factory=dict[str, Any])
    problems: list[Problem] = field(default_factory=list[Problem])


def reported(**keys: Any) -> dict[str, Any]:
    """Return the keys that have a value; `type_` stands for `type`, which is a word of Python's."""
    return {key.rstrip("_"): value for key, value in keys.items() if value is not None and value not in ([], {})}


def number(value: Any) -> Any:
    """Return the number that text stands for; ParallelCluster reads `"4"` as 4."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value


def truth(value: Any) -> Any:
    """Return true or false where text stands for it, as ParallelCluster reads it."""
    words = {"true": True, "false": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def amount(value: Any, unit: str) -> str | None:
    """Return a number with its unit."""
    return None if value is None else f"{value} {unit}"


def unless(value: Any, default: Any) -> Any:
    """Return `value`, or nothing where it is the default anyhow."""
    return None if value == default else value


def ask_for_zones(subnets: Sequence[str], which: str, path: tuple[str, ...]) -> Problem:
    """Return the problem of subnets that exist and whose VPC and AZs nobody has named; `which` names their file."""
    return Problem(
        code=Code.REQUEST_SHAPE,
        message=f"a fleet file names the VPC and the AZ of each subnet, which {which} does not tell",
        remedy=f"add `--vpc` with the VPC's id, and an `--az` with the AZ id of each of {', '.join(subnets)} in turn; "
        f"`aws ec2 describe-subnets --subnet-ids {' '.join(subnets)} "
        "--query 'Subnets[].[SubnetId,VpcId,AvailabilityZoneId]'` tells them",
        path=path,
        value=list(subnets),
    )
