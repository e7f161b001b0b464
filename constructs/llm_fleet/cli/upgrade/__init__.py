"""The command `llm-fleet upgrade`."""

import argparse
from typing import TYPE_CHECKING

from llm_fleet.cli.place import add_place, fleet_of, place_of
from llm_fleet.cli.verb import Verbs, add_verb, checked

if TYPE_CHECKING:
    from llm_fleet.cli.upgrade.upgrades import UpgradePlan
    from llm_fleet.fleet_file.fleet import Fleet


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "upgrade",
        help="show what an update of the AMI would delete and run again; changes nothing",
        examples=("upgrade", "upgrade ml-cluster --group worker-group --image ami-0123456789abcdef0"),
    )
    add_place(verb)
    which = verb.add_mutually_exclusive_group()
    which.add_argument(
        "--image",
        type=checked(_image),
        metavar="ID",
        help="AMI id (ami-…), or release of the HyperPod AMI (e.g. 1.2.3)",
    )
    which.add_argument("--latest", action="store_true", help="the newest release of the HyperPod AMI (default)")
    verb.add_argument("--group", action="append", default=[], metavar="G", help="only this instance group; repeatable")
    verb.add_argument("--no-session", action="store_true", help="do not query Slurm for running jobs")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=upgrade)


def _image(text: str) -> None:
    from llm_fleet.cli.upgrade.upgrades import check_image

    check_image(text)


def upgrade(arguments: argparse.Namespace) -> int:
    """Print the plan. Returns 3 if Slurm could not be queried for running jobs."""
    from llm_fleet.cli.screen import Screen, print_json
    from llm_fleet.cli.upgrade.upgrades import show_plan
    from llm_fleet.cli.verb import ExitCode

    plan = _plan(arguments, fleet_of(arguments))
    if arguments.json:
        print_json(plan)
    else:
        show_plan(plan, Screen.of_output())
    return ExitCode.NOT_CHECKED if plan.not_checked else ExitCode.FINE


def _plan(arguments: argparse.Namespace, fleet: "Fleet | None") -> "UpgradePlan":
    from llm_fleet.cli.clients import AwsClients
    from llm_fleet.cli.place import Kind
    from llm_fleet.cli.upgrade.upgrades import (
        ASK,
        hyperpod_upgrade,
        parallelcluster_upgrade,
        running_jobs,
        service_upgrade,
    )

    place = place_of(arguments)
    clients = AwsClients(region=place.region)
    if place.kind is Kind.SERVICE:
        return service_upgrade(clients, place, image=arguments.image, fleet=fleet)
    if place.kind is Kind.PARALLELCLUSTER:
        plan = parallelcluster_upgrade(clients, place, image=arguments.image, fleet=fleet)
    else:
        plan = hyperpod_upgrade(clients, place, image=arguments.image, only=arguments.group, fleet=fleet)
    why = "--no-session was given"
    if not arguments.no_session:
        plan.jobs, why = running_jobs(fleet, place)
        plan.not_checked = why if plan.jobs is None else None
    if plan.jobs is None:
        plan.before.append(f"{ASK}   # running jobs, on the controller; not queried: {why}")
    return plan
