"""The cluster, service and Region of a command, from its arguments and the fleet file."""

import argparse
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet.cli.verb import checked, refuse
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import FleetError

if TYPE_CHECKING:
    from llm_fleet.fleet_file.fleet import Fleet


class Kind(StrEnum):
    """Kind of a place."""

    HYPERPOD = "hyperpod"
    PARALLELCLUSTER = "parallelcluster"
    SERVICE = "service"

    @property
    def in_words(self) -> str:
        """Name for messages."""
        return _WORDS[self]


_WORDS = {
    Kind.HYPERPOD: "HyperPod cluster",
    Kind.PARALLELCLUSTER: "ParallelCluster cluster",
    Kind.SERVICE: "inference service",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One cluster or service, deployed or not."""

    kind: Kind
    name: str
    """Name in AWS: of a HyperPod cluster; of a ParallelCluster cluster, without `-` and eight digits of a hash at its
    end; of a service, its ECS service and stack."""
    region: str | None
    """`None`: that of the AWS settings."""
    key: str | None = None
    """Key in the fleet file; `None` without a file."""
    stack: str | None = None
    """Its CloudFormation stack; `None` without a file."""

    def __str__(self) -> str:
        # A wrong Region has no resources, so messages always show the Region.
        return f"{self.kind.in_words} {self.name}" + (f" in {self.region}" if self.region else "")


FILE_RULE = (
    "Every command that reads a fleet file takes it as -f FILE (default: fleet.yaml in the current directory); "
    "validate, check, plan, retained and local also take it as an argument."
)
_DEFAULT_FILE = Path("fleet.yaml")
_WITHOUT_FILE = (
    "note: deployed clusters and services can be queried without this file: run the command in a directory without a "
    "fleet.yaml, with the name in AWS, --region, and --kind unless it is HyperPod\n"
)


def add_file(parser: argparse.ArgumentParser, *, argument: bool = False) -> None:
    """Add `-f FILE`, and FILE as an `argument`, for the commands without an argument that names a part of the fleet."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("-f", "--file", metavar="FILE", help="fleet file (default: fleet.yaml in the current directory)")
    if argument:
        one.add_argument("file", nargs="?", default=argparse.SUPPRESS, metavar="FILE", help="the same as -f FILE")


def file_if_any(arguments: argparse.Namespace) -> Path | None:
    """Return the fleet file of the command line, or fleet.yaml if it exists."""
    if arguments.file is not None:
        return Path(arguments.file)
    return _DEFAULT_FILE if _DEFAULT_FILE.is_file() else None


def file_of(arguments: argparse.Namespace) -> Path:
    """Return the fleet file. Raises `FleetError` (LF101) if none is given and fleet.yaml does not exist."""
    return file_if_any(arguments) or refuse(Code.FILE_UNREADABLE, _no_file(), "name the fleet file with -f FILE")


def _no_file() -> str:
    return f"no fleet file: {_DEFAULT_FILE} does not exist in {Path.cwd()}"


def add_place(parser: argparse.ArgumentParser, *, option: bool = False) -> None:
    """Add the cluster or service NAME as argument, or as `--cluster` with `option`."""
    what = "cluster or service: key in the fleet file, or name in AWS (default: the only one)"
    if option:
        parser.add_argument("-c", "--cluster", dest="place", metavar="NAME", help=what)
    else:
        parser.add_argument("place", nargs="?", metavar="NAME", help=what)
    parser.set_defaults(place_word="with -c NAME" if option else "as NAME")
    add_file(parser)
    parser.add_argument("--region", help="AWS Region (default: the fleet file's, else that of your AWS settings)")
    parser.add_argument(
        "--kind",
        choices=[str(kind) for kind in Kind],
        default=Kind.HYPERPOD.value,
        help="kind of NAME without a fleet file (default: hyperpod)",
    )


def add_since(parser: argparse.ArgumentParser) -> None:
    """Add `--since`, which `log_streams.since` checks."""

    def read(text: str) -> object:
        from llm_fleet.cli.logs.log_streams import since

        return since(text)

    what = "only newer entries: a time span (2h, 3d) or a time (2026-11-22T03:00:00Z)"
    parser.add_argument("--since", type=checked(read), metavar="SPAN", help=what)


def fleet_of(arguments: argparse.Namespace) -> "Fleet | None":
    """Return the fleet of `--file`, or of fleet.yaml if it exists.

    Raises `FleetError` with the errors of the file, after a note that the file is not required for deployed clusters.
    """
    file = file_if_any(arguments)
    if file is None:
        return None
    from llm_fleet.fleet_file.load import load_fleet

    try:
        return load_fleet(file)
    except FleetError:
        print(_WITHOUT_FILE, file=sys.stderr)
        raise


def place_of(arguments: argparse.Namespace, *, kinds: tuple[Kind, ...] = tuple(Kind)) -> Place:
    """Return the requested place. Raises `FleetError` (LF1010 to LF1013), or with the errors of the file."""
    fleet = fleet_of(arguments)
    found = _named(arguments) if fleet is None else _in_file(fleet, arguments.place, kinds, arguments.region)
    if found.kind not in kinds:
        allowed = " and ".join(f"{kind.in_words}s" for kind in kinds)
        remedy = f"use it for {allowed}"
        refuse(CommandCode.PLACE_KIND, "this command is not available for this kind", remedy, subject=str(found))
    return found


def places_in(fleet: "Fleet", region: str | None = None) -> tuple[Place, ...]:
    """Return every cluster and service of `fleet`, in the order of the file."""
    where = region or fleet.region
    clusters = [
        Place(
            kind=Kind.HYPERPOD if key in fleet.hyperpod_clusters else Kind.PARALLELCLUSTER,
            name=cluster.cluster_name,
            region=where,
            key=key,
            stack=f"{fleet.name}-{key}",
        )
        for key, cluster in fleet.clusters.items()
    ]
    names = {key: service.name_in(fleet.name) for key, service in fleet.services.items()}
    services = [Place(kind=Kind.SERVICE, name=name, region=where, key=key, stack=name) for key, name in names.items()]
    return (*clusters, *services)


def _named(arguments: argparse.Namespace) -> Place:
    if arguments.place is None:
        refuse(
            CommandCode.FILE_OR_NAME,
            _no_file(),
            f"name the fleet file with -f FILE, or the cluster {arguments.place_word} and its --region",
        )
    return Place(kind=Kind(arguments.kind), name=arguments.place, region=arguments.region)


def _in_file(fleet: "Fleet", requested: str | None, kinds: tuple[Kind, ...], region: str | None) -> Place:
    places = places_in(fleet, region)
    able = [place for place in places if place.kind in kinds]
    if requested is None:
        if len(able) == 1:
            return able[0]
        names = ", ".join(str(place.key) for place in able)
        refuse(
            CommandCode.PLACE_NEEDED,
            "no cluster or service is named, and the fleet has several"
            if able
            else "the fleet has no cluster or service for this command",
            f"name one of {names}" if able else "add a cluster to the fleet file",
            subject=f"fleet {fleet.name}",
        )
    for place in places:
        if requested in (place.key, place.name):
            return place
    from llm_fleet.rules.values import did_you_mean  # It imports the catalog, which `--help` does not need.

    names_known = [str(place.key) for place in places]
    refuse(
        CommandCode.PLACE_UNKNOWN,
        "unknown cluster or service",
        did_you_mean(requested, names_known, otherwise=f"name one of {', '.join(names_known) or '(none)'}"),
        value=requested,
        subject=f"fleet {fleet.name}",
    )
