"""The files of a support bundle: of this machine, of a cluster or service, and of Slurm."""

import json
import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_fleet.cli.bundle.redact import Redactor
from llm_fleet.cli.clients import AwsClients, aws_errors_reported
from llm_fleet.cli.events.collected_events import collect
from llm_fleet.cli.logs.gather import Gathered, gather
from llm_fleet.cli.logs.log_place import LogPlace, stopped_tasks
from llm_fleet.cli.logs.log_streams import stream_lines
from llm_fleet.cli.logs.node_runs import NodeRun, Source, split_uri
from llm_fleet.cli.logs.show_logs import log_place
from llm_fleet.cli.nodes.list_nodes import listing_of
from llm_fleet.cli.place import Kind, Place
from llm_fleet.cli.screen import Step, plain_data, progress
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import FleetError, Problem

if TYPE_CHECKING:
    from llm_fleet.fleet_file.fleet import Fleet

Found = str | dict[str, Any] | list[Any]
"""Text, or what is written as JSON."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A file of the bundle, and the call that collects its content."""

    name: str
    find: Callable[[], Found]
    """Raises `FleetError` if the content cannot be collected."""


def written(found: Found, redactor: Redactor) -> str:
    """Return the content of the file, without secrets."""
    if isinstance(found, str):
        return redactor.text(found)
    text = json.dumps(redactor.data(json.loads(json.dumps(found, default=plain_data))), indent=2)
    return redactor.text(text) + "\n"


def safe_name(name: str) -> str:
    """Return `name` as a file name that is valid on every operating system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip(".") or "_"


_PACKAGES = ("llm-fleet", "boto3", "botocore", "aws-cdk-lib", "pydantic", "rich")
_SETTINGS = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_MAX_ATTEMPTS", "AWS_ENDPOINT_URL", "TERM", "LANG")


def machine_pieces(file: Path | None, fleet: "Fleet | None") -> list[Piece]:
    """Return the pieces."""
    pieces = [Piece("versions.json", _versions)]
    if file is not None:
        pieces.append(Piece("fleet.yaml", lambda: file.read_text(encoding="utf-8", errors="backslashreplace")))
    if fleet is not None:
        pieces.append(Piece("machines.json", lambda: _machines(fleet)))
    return pieces


def _versions() -> Found:
    return {
        "packages": {name: _version(name) for name in _PACKAGES},
        "python": sys.version,
        "platform": platform.platform(),
        "command": Path(sys.argv[0]).name,
        "settings": {name: os.environ[name] for name in _SETTINGS if name in os.environ},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _machines(fleet: "Fleet") -> Found:
    """Return the instances that the fleet file describes."""
    from llm_fleet.needs.machines import machines_of

    reported: list[Any] = [
        {
            "owner": one.owner,
            "service": str(one.service),
            "instance_types": list(one.instance_types),
            "count": one.count,
            "availability_zones": list(one.availability_zone_ids),
        }
        for one in machines_of(fleet)
    ]
    return reported


_SCRIPT = """export PATH=/opt/slurm/bin:$PATH
for what in "sinfo -N -l" "sinfo -R" "squeue -l" "scontrol show config" "systemctl --failed --no-pager"; do
  echo "== ${what}"
  timeout 20 ${what} 2>&1 | tail -n 400
done
"""


def slurm_state(fleet: "Fleet | None", place: Place) -> str:
    """Return the output of read-only Slurm commands. Raises `FleetError` if no node can run them."""
    cluster = None if fleet is None or place.key is None else fleet.clusters.get(place.key)
    if cluster is None:
        refuse(
            CommandCode.FILE_OR_NAME,
            "a fleet file is required: it names the node that runs Slurm's commands",
            "name the fleet file with -f FILE, or leave Slurm out with --no-session",
            subject=str(place),
        )
    from llm_fleet.cli.nodes.slurm_view import find_target
    from llm_fleet.cli.session import Session

    done = Session(find_target(cluster, place.region or ""), user="root").run(_SCRIPT)
    return "\n".join(done.lines) + "\n"


_LINES = 2000
"""Log lines that are collected per node: enough for several starts."""
_LOGS = 20
"""Nodes whose logs are collected: if thousands fail, they fail for the same reason."""


def place_pieces(clients: AwsClients, place: Place, fleet: "Fleet | None", *, session: bool) -> list[Piece]:
    """Return the pieces of a cluster or service; AWS is called when `Piece.text` is."""
    pieces = [Piece("events.json", lambda: _events(clients, place))]
    if place.kind is Kind.HYPERPOD:
        pieces.append(Piece("cluster.json", lambda: _cluster(clients, place)))
    elif place.kind is Kind.SERVICE:
        pieces.append(Piece("service.json", lambda: _service(clients, place)))
        pieces.append(Piece("stopped-tasks.json", lambda: list(stopped_tasks(clients, place.name))))
    pieces.append(Piece("nodes.json", lambda: _nodes(clients, place)))
    if place.stack is not None:
        pieces.append(Piece("stack.json", lambda: _stack(clients, str(place.stack))))
    if session and place.kind is not Kind.SERVICE:
        pieces.append(Piece("slurm.txt", lambda: slurm_state(fleet, place)))
    return pieces


def starts(clients: AwsClients, place: Place) -> tuple[LogPlace, Gathered]:
    """Return the results of the nodes' starts of a cluster. Raises `FleetError`."""
    where = log_place(clients, place)
    gathered = gather(clients, where)
    return where, gathered


def log_pieces(clients: AwsClients, where: LogPlace, runs: list[NodeRun]) -> list[Piece]:
    """Return logs and reports of nodes whose start failed, and of one that started, for comparison."""
    bad = [run for run in runs if run.code != "OK"][:_LOGS]
    good = [run for run in runs if run.code == "OK"][:1]
    pieces: list[Piece] = []
    for run in (*bad, *good):
        name = safe_name(f"{run.group}-{run.node}")
        if run.source is Source.LOG and run.place and where.group:
            pieces.append(Piece(f"logs/{name}.log", lambda run=run: _log(clients, str(where.group), str(run.place))))
        elif run.source is Source.REPORT and run.place:
            pieces.append(Piece(f"reports/{name}.json", lambda run=run: _report(clients, str(run.place))))
    return pieces


def _events(clients: AwsClients, place: Place) -> Found:
    found = collect(clients, place, everything=True)
    return {
        "state": found.state,
        "failure": found.failure,
        "events": [event.as_json() for event in found.events],
        "remarks": found.remarks,
        "problems": found.problems,
    }


def _nodes(clients: AwsClients, place: Place) -> Found:
    listing = listing_of(clients, place)
    return {
        "status": listing.status,
        "message": listing.message,
        "note": listing.note,
        "counts": list(listing.counts),
        "nodes": [node.as_json() for node in listing.nodes],
    }


def _stack(clients: AwsClients, stack: str) -> Found:
    with aws_errors_reported(f"stack {stack}"):
        reported: Any = clients.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        resources = clients.cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
    return {"stack": dict(reported), "resources": [dict(one) for one in resources]}


def _log(clients: AwsClients, group: str, stream: str) -> Found:
    lines = list(stream_lines(clients.logs, group, stream))[-_LINES:]
    return "".join(f"{line.time:%Y-%m-%dT%H:%M:%S}Z  {line.text}\n" for line in lines)


def _report(clients: AwsClients, uri: str) -> Found:
    bucket, key = split_uri(uri)
    with aws_errors_reported(uri):
        return clients.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode("utf-8", "replace")


def _cluster(clients: AwsClients, place: Place) -> Found:
    with aws_errors_reported(str(place)):
        return _answer(clients.sagemaker.describe_cluster(ClusterName=place.name))


def _service(clients: AwsClients, place: Place) -> Found:
    with aws_errors_reported(str(place)):
        return _answer(clients.ecs.describe_services(cluster=place.name, services=[place.name]))


def _answer(reported: Any) -> dict[str, Any]:
    """Return an API response without `ResponseMetadata`."""
    return {name: value for name, value in dict(reported).items() if name != "ResponseMetadata"}


MANIFEST = "manifest.json"
_OF_PLACE = ("cluster.json", "service.json", "nodes.json", "starts.json")


@dataclass(slots=True)
class GatheredFiles:
    """The content of the archive."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    missing: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """Files that could not be collected: `name`, `why` and, if there is one, `remedy`."""
    refused: list[FleetError] = field(default_factory=list[FleetError])
    """Calls that AWS refused."""


def gather_files(
    clients: AwsClients, place: Place, *, fleet: "Fleet | None", file: Path | None, session: bool, redactor: Redactor
) -> GatheredFiles:
    """Return the files without secrets, and a manifest that lists them."""
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
        "secrets": "found by their form and by the names of their keys, and removed; check that none is left",
    }
    gathered.files[MANIFEST] = written(manifest, redactor)
    return gathered


def _check_there(gathered: GatheredFiles) -> None:
    """Refuse a name that is neither in the fleet file nor in AWS: its bundle would be empty."""
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
            _report_parts(gathered, piece.name, found, redactor)
        except FleetError as error:
            gathered.missing.append(_left_out(piece.name, error, redactor))
            gathered.refused.append(error)
        except OSError as error:
            gathered.missing.append({"name": piece.name, "why": (error.strerror or str(error)).lower()})
        step()


def _left_out(name: str, error: FleetError, redactor: Redactor) -> dict[str, str]:
    problem = error.problems[0]
    return {"name": name, "why": redactor.text(problem.message), "remedy": redactor.text(problem.remedy)}


def _report_parts(gathered: GatheredFiles, name: str, found: Found, redactor: Redactor) -> None:
    """Record which parts of a file AWS refused."""
    problems: list[Problem] = found.get("problems", []) if isinstance(found, dict) else []
    for problem in problems:
        gathered.missing.append({"name": f"{name}, in part", "why": redactor.text(problem.message)})


def _take_starts(gathered: GatheredFiles, clients: AwsClients, place: Place, redactor: Redactor, step: Step) -> None:
    """Collect the results of the nodes' starts, and the logs of those that failed."""
    try:
        where, reported_of = starts(clients, place)
    except FleetError as error:
        gathered.missing.append(_left_out("starts.json", error, redactor))
        gathered.refused.append(error)
        step()
        return
    reported: dict[str, Any] = {
        "runs": [run.as_json() for run in reported_of.runs],
        "remarks": reported_of.remarks,
        "problems": reported_of.problems,
    }
    gathered.files["starts.json"] = written(reported, redactor)
    _report_parts(gathered, "starts.json", reported, redactor)
    pieces = log_pieces(clients, where, reported_of.runs)
    step(total=len(gathered.files) + len(pieces))
    _take(gathered, pieces, redactor, step)
