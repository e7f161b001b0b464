"""The command `llm-fleet nodes`."""

import argparse
import math
from functools import partial
from typing import TYPE_CHECKING

from llm_fleet.cli.place import add_place, fleet_of, place_of
from llm_fleet.cli.verb import Verbs, add_verb

if TYPE_CHECKING:
    from llm_fleet.cli.nodes.list_nodes import Seen
    from llm_fleet.cli.nodes.nodes_table import NodesView

_EVERY = 15.0
_LEAST, _MOST = 5.0, 3600.0


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "nodes",
        help="show the state of each node of a cluster in AWS and in Slurm",
        examples=("nodes", "nodes ml-cluster --status differs --watch 30"),
    )
    add_place(verb)
    verb.add_argument("--group", metavar="NAME", help="only this instance group, queue or login pool")
    verb.add_argument("--status", help="only nodes with this status of AWS or Slurm, or `differs`")
    # --no-session is its name in upgrade and bundle.
    verb.add_argument(
        "--no-slurm", "--no-session", action="store_true", help="query AWS only; open no session with the controller"
    )
    verb.add_argument(
        "--watch",
        nargs="?",
        type=_seconds,
        const=_EVERY,
        metavar="SECONDS",
        help="repeat every SECONDS (default: 15), until Ctrl-C",
    )
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=run, usage=verb.error)


def run(arguments: argparse.Namespace) -> int:
    """Print the nodes. Returns 1 if a node needs attention, 3 if Slurm should have been queried and was not."""
    from llm_fleet.cli.nodes.nodes_table import watch
    from llm_fleet.cli.screen import Screen, print_json, progress

    if arguments.json and arguments.watch is not None:
        arguments.usage("set only one of --watch and --json; run --json in a loop instead")
    if arguments.no_slurm and arguments.status == "differs":
        arguments.usage("--status differs compares AWS with Slurm: remove --no-slurm")
    seen = _Looking(arguments)
    if arguments.watch is not None:
        watch(seen.look, arguments.watch)
    with progress("nodes") as step:
        monitoring = seen.look(lambda count: step(said=f"{count} nodes"))
    if arguments.json:
        print_json(monitoring.as_json())
    else:
        print(monitoring.text(Screen.of_output()), end="")
    return monitoring.exit_code


class _Looking:
    """Reads the requested nodes."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from llm_fleet.cli.clients import AwsClients
        from llm_fleet.cli.nodes.node import roles_of_place

        self._arguments = arguments
        self._place = place_of(arguments)
        self._roles = roles_of_place(fleet_of(arguments), self._place)
        self._clients = AwsClients(region=self._place.region)

    def look(self, seen: "Seen | None" = None) -> "NodesView":
        """Return the current state."""
        from llm_fleet.cli.nodes.list_nodes import listing_of
        from llm_fleet.cli.nodes.nodes_table import NodesView, check_group, check_status, keeps, look
        from llm_fleet.cli.nodes.slurm_view import ask_slurm

        arguments = self._arguments
        listing = listing_of(self._clients, self._place, roles=self._roles, seen=seen)
        check_group(listing, arguments.group)
        ask = None if arguments.no_slurm else partial(ask_slurm, region=self._clients.region)
        whole = look(listing, ask)
        check_status(whole.rows, arguments.status, listing.name)
        keep = keeps(arguments.group, arguments.status)
        return NodesView(listing=listing, rows=[row for row in whole.rows if keep(row)], unseen=whole.unseen)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not _LEAST <= seconds <= _MOST:
        raise argparse.ArgumentTypeError(f"write {_LEAST:g} to {_MOST:g} seconds, because AWS limits calls")
    return seconds
