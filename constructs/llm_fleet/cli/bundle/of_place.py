"""The pieces of a bundle that AWS has: of a cluster or service, its nodes, events, logs and stack."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import told_of_aws
from llm_fleet.cli.bundle.archive import safe_name
from llm_fleet.cli.bundle.piece import Found, Piece
from llm_fleet.cli.events.collected import collect
from llm_fleet.cli.logs.gather import gather
from llm_fleet.cli.logs.gathered import Gathered
from llm_fleet.cli.logs.log_place import LogPlace
from llm_fleet.cli.logs.log_streams import stream_lines
from llm_fleet.cli.logs.node_run import NodeRun, Source
from llm_fleet.cli.logs.overview import log_place
from llm_fleet.cli.logs.reports import split_uri
from llm_fleet.cli.nodes.listed_nodes import listing_of
from llm_fleet.cli.place.place import Kind, Place
from llm_fleet.cli.terminal.told_problem import told_problem

if TYPE_CHECKING:
    from llm_fleet.config.fleet import Fleet

_LINES = 2000
"""Of one log: enough for several starts."""
_LOGS = 20
"""Nodes whose log is taken: of thousands that fail, twenty fail alike."""


def place_pieces(clients: AwsClients, place: Place, fleet: "Fleet | None", *, session: bool) -> list[Piece]:
    """Return the pieces; each is asked for when its turn comes."""
    pieces = [Piece("events.json", lambda: _events(clients, place))]
    if place.kind is Kind.HYPERPOD:
        pieces.append(Piece("cluster.json", lambda: _cluster(clients, place)))
    elif place.kind is Kind.SERVICE:
        pieces.append(Piece("service.json", lambda: _service(clients, place)))
        pieces.append(Piece("stopped-tasks.json", lambda: _stopped(clients, place)))
    pieces.append(Piece("nodes.json", lambda: _nodes(clients, place)))
    if place.stack is not None:
        pieces.append(Piece("stack.json", lambda: _stack(clients, str(place.stack))))
    if session and place.kind is not Kind.SERVICE:
        pieces.append(Piece("slurm.txt", lambda: _slurm(fleet, place)))
    return pieces


def starts(clients: AwsClients, place: Place) -> tuple[LogPlace, Gathered]:
    """Return how the nodes' starts went, of a cluster. Raises `FleetError`."""
    where = log_place(clients, place)
    gathered = gather(clients, where)
    return where, gathered


def log_pieces(clients: AwsClients, where: LogPlace, runs: list[NodeRun]) -> list[Piece]:
    """Return logs and reports of nodes that did not start well, of those that did the last one's to compare."""
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
        "problems": [told_problem(problem) for problem in found.problems],
    }


def _cluster(clients: AwsClients, place: Place) -> Found:
    with told_of_aws(str(place)):
        return _answer(clients.sagemaker.describe_cluster(ClusterName=place.name))


def _nodes(clients: AwsClients, place: Place) -> Found:
    listing = listing_of(clients, place)
    return {
        "status": listing.status,
        "message": listing.message,
        "note": listing.note,
        "counts": [asdict(count) for count in listing.counts],
        "nodes": [node.told() for node in listing.nodes],
    }


def _service(clients: AwsClients, place: Place) -> Found:
    with told_of_aws(str(place)):
        return _answer(clients.ecs.describe_services(cluster=place.name, services=[place.name]))


def _stopped(clients: AwsClients, place: Place) -> Found:
    from llm_fleet.cli.logs.service_tasks import stopped_tasks

    return [task.as_json() for task in stopped_tasks(clients, place.name)]


def _stack(clients: AwsClients, stack: str) -> Found:
    with told_of_aws(f"stack {stack}"):
        told: Any = clients.cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
        resources = clients.cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
    return {"stack": dict(told), "resources": [dict(one) for one in resources]}


def _slurm(fleet: "Fleet | None", place: Place) -> Found:
    from llm_fleet.cli.bundle.slurm_state import slurm_state

    return slurm_state(fleet, place)


def _log(clients: AwsClients, group: str, stream: str) -> Found:
    lines = list(stream_lines(clients.logs, group, stream))[-_LINES:]
    return "".join(f"{line.time:%Y-%m-%dT%H:%M:%S}Z  {line.text}\n" for line in lines)


def _report(clients: AwsClients, uri: str) -> Found:
    bucket, key = split_uri(uri)
    with told_of_aws(uri):
        return clients.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode("utf-8", "replace")


def _answer(told: Any) -> dict[str, Any]:
    """Return an answer without what is about the call."""
    return {name: value for name, value in dict(told).items() if name != "ResponseMetadata"}
