"""The command `llm-fleet logs`."""

import argparse
from typing import TYPE_CHECKING

from llm_fleet.cli.place import add_place, add_since, fleet_of, place_of
from llm_fleet.cli.verb import Verbs, add_verb

if TYPE_CHECKING:
    from llm_fleet.cli.logs.gather import Requested


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "logs",
        help="show the result of each node's start, by step and failure code, and its log lines",
        examples=("logs --failed", "logs ml-cluster --node trn1-3"),
    )
    add_place(verb)
    verb.add_argument(
        "--node", metavar="N", help="log lines of this node's last start: its label, instance id, Slurm name or address"
    )
    verb.add_argument("--group", metavar="G", help="only nodes of this instance group, queue or container")
    verb.add_argument("--step", metavar="S", help="log lines of one step, e.g. mount_lustre")
    verb.add_argument("--code", metavar="LFN..", help="only nodes whose start failed with this code")
    verb.add_argument("--failed", action="store_true", help="only nodes whose start failed")
    add_since(verb)
    verb.add_argument("--follow", action="store_true", help="show new lines until Ctrl-C")
    verb.add_argument(
        "--log", metavar="L", help="another log: health or deep-health; for ParallelCluster slurmctld and others"
    )
    verb.add_argument("--health", action="store_true", help="the same as --log health")
    verb.add_argument("--raw", action="store_true", help="print every line as it is in CloudWatch Logs")
    verb.add_argument("--json", action="store_true", help="print JSON; log lines as one document per line")
    verb.set_defaults(run=logs)


def logs(arguments: argparse.Namespace) -> int:
    """Print the requested runs or lines. Returns 1 if the start of one of these nodes failed."""
    from dataclasses import replace

    from llm_fleet.cli.clients import AwsClients
    from llm_fleet.cli.logs.show_logs import show_lines, show_overview, show_service
    from llm_fleet.cli.nodes.list_nodes import wanted_id
    from llm_fleet.cli.place import Kind

    requested = requested_of(arguments)
    place = place_of(arguments)
    if requested.node is not None:
        clients = AwsClients(region=place.region)
        requested = replace(requested, node=wanted_id(clients, place, requested.node, fleet=fleet_of(arguments)))
    if place.kind is Kind.SERVICE:
        return show_service(place, requested)
    return show_lines(place, requested) if requested.lines else show_overview(place, requested)


def requested_of(arguments: argparse.Namespace) -> "Requested":
    """Return the options of the command line. Raises `FleetError` (LF1120, LF1124)."""
    from llm_fleet.cli.logs.gather import Requested, failure_code
    from llm_fleet.cli.logs.log_streams import since

    return Requested(
        node=arguments.node,
        group=arguments.group,
        step=arguments.step,
        code=failure_code(arguments.code),
        failed=arguments.failed,
        since=since(arguments.since),
        follow=arguments.follow,
        log="health" if arguments.health else arguments.log,
        raw=arguments.raw,
        as_json=arguments.json,
    )
