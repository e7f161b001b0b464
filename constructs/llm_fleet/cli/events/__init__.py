"""The command `llm-fleet events`."""

import argparse
from datetime import datetime
from typing import TYPE_CHECKING

from llm_fleet.cli.place import add_place, add_since, fleet_of, place_of
from llm_fleet.cli.verb import Verbs, add_verb

if TYPE_CHECKING:
    from llm_fleet.cli.clients import AwsClients
    from llm_fleet.cli.events.collected_events import Collected
    from llm_fleet.cli.place import Place

_PAUSE = 15.0
"""Seconds between two queries: events are minutes apart, and few calls per second are allowed."""
_NONE = "no failures; --all shows all events\n"
"""For ParallelCluster, whose events are CloudFormation's: one for each resource."""


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "events",
        help="show the events of a cluster or service, with their messages",
        examples=("events", "events ml-cluster --since 2h --follow"),
    )
    add_place(verb)
    add_since(verb)
    verb.add_argument(
        "--node", metavar="N", help="only events of this node: its label, instance id, Slurm name or address"
    )
    verb.add_argument("--all", action="store_true", help="include scale-in and successful CloudFormation events")
    verb.add_argument("--follow", action="store_true", help="show new events until Ctrl-C")
    verb.add_argument("--json", action="store_true", help="print JSON; with --follow, one document per line")
    verb.set_defaults(run=events)


def events(arguments: argparse.Namespace) -> int:
    """Print the events. Returns 1 if one is an error or the cluster has failed, 3 if AWS refused some of them."""
    from llm_fleet.cli.clients import AwsClients
    from llm_fleet.cli.events.collected_events import collect
    from llm_fleet.cli.logs.log_streams import since
    from llm_fleet.cli.nodes.list_nodes import wanted_id

    begin = since(arguments.since)
    place = place_of(arguments)
    clients = AwsClients(region=place.region)
    if arguments.node is not None:
        arguments.node = wanted_id(clients, place, arguments.node, fleet=fleet_of(arguments))
    if arguments.follow:
        _follow(clients, place, arguments, begin)
    found = collect(clients, place, since=begin, node=arguments.node, everything=arguments.all)
    _print(found, place, as_json=arguments.json, everything=arguments.all)
    return _exit_code(found)


def _exit_code(found: "Collected") -> int:
    from llm_fleet.cli.events.cluster_events import Level
    from llm_fleet.cli.verb import ExitCode

    if found.failure or any(event.level is Level.ERROR for event in found.events):
        return ExitCode.PROBLEMS
    return ExitCode.NOT_CHECKED if found.problems else ExitCode.FINE


def _print(found: "Collected", place: "Place", *, as_json: bool, everything: bool) -> None:
    from llm_fleet.cli.events.cluster_events import events_table, outcome_words, remedies
    from llm_fleet.cli.place import Kind
    from llm_fleet.cli.screen import Screen, plain_text, print_json, print_notes

    reported = remedies(found.events, found.failure)
    if as_json:
        document = {
            "name": place.name,
            "kind": place.kind.value,
            "state": found.state,
            "failure": found.failure,
            "events": [event.as_json() for event in found.events],
            "remedies": reported,
            "remarks": found.remarks,
            "problems": found.problems,
        }
        print_json(document)
        return
    state = outcome_words(found.state, found.failure)
    print(f"{place}: {plain_text(state)}\n" if state else "", end="")
    none = "no events\n" if everything or place.kind is not Kind.PARALLELCLUSTER else _NONE
    print(events_table(found.events).text(Screen.of_output()) if found.events else none, end="")
    print("".join(f"\nremedy: {remedy}\n" for remedy in reported), end="")
    print_notes(found.remarks, found.problems)


def _follow(clients: "AwsClients", place: "Place", arguments: argparse.Namespace, begin: datetime | None) -> None:
    """Print new events until Ctrl-C."""
    import json
    import time

    from llm_fleet.cli.events.cluster_events import Event, one_line
    from llm_fleet.cli.events.collected_events import collect
    from llm_fleet.cli.screen import plain_text, print_notes

    shown: set[tuple[object, ...]] = set()
    known: dict[str, Event] = {}
    while True:
        found = collect(clients, place, since=begin, node=arguments.node, everything=arguments.all, known=known)
        for event in found.events:
            known[event.key] = event
            said = (event.time, event.source, event.about, event.what)
            if said not in shown:
                shown.add(said)
                text = json.dumps(event.as_json(), default=str) if arguments.json else plain_text(one_line(event))
                print(text, flush=True)
        print_notes((), found.problems)
        time.sleep(_PAUSE)
