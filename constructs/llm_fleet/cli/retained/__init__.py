"""The command `llm-fleet retained`."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from llm_fleet.cli.place import add_file, file_of
from llm_fleet.cli.verb import Verbs, add_verb

if TYPE_CHECKING:
    from llm_fleet.cli.clients import AwsClients
    from llm_fleet.cli.retained.survey import Survey
    from llm_fleet.fleet_file.fleet import Fleet


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "retained",
        help="list what deleted stacks of a fleet left behind, with its price; use it again, or delete it",
        examples=("retained", "retained -f fleet.yaml --adopt"),
    )
    add_file(verb, argument=True)
    verb.add_argument("--only", action="append", default=[], metavar="ID", help="only this resource; repeatable")
    action = verb.add_mutually_exclusive_group()
    action.add_argument(
        "--adopt",
        action="store_true",
        help="write the resources into the fleet file, so that the next deployment uses them; prints the difference",
    )
    action.add_argument(
        "--delete",
        action="store_true",
        help="delete the resources with all data, after you have typed the fleet's name; KMS keys after 30 days",
    )
    verb.add_argument(
        "--yes", metavar="NAME", help="the fleet's name, instead of typing it; required by --delete --json"
    )
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=retained, usage=verb.error)


def retained(arguments: argparse.Namespace) -> int:
    """List, adopt or delete the retained resources. Returns 3 if AWS could not be queried completely."""
    from llm_fleet.cli.clients import AwsClients, AwsRefusal
    from llm_fleet.cli.retained.listing import print_list
    from llm_fleet.cli.retained.network_others import with_users
    from llm_fleet.cli.retained.survey import survey
    from llm_fleet.cli.verb import ExitCode
    from llm_fleet.fleet_file.load import load_fleet

    if arguments.yes is not None and not arguments.delete:
        arguments.usage("--yes has no effect without --delete")
    if arguments.json and arguments.delete and arguments.yes is None:
        arguments.usage("--delete with --json requires --yes NAME, the fleet's name: nothing is prompted")
    path = file_of(arguments)
    fleet = load_fleet(path)
    clients = AwsClients(region=fleet.region)
    found = survey(clients, fleet, only=arguments.only)
    if arguments.adopt and found.problems:
        # With a part of the keys, the next deployment would create new, empty resources for the others.
        raise AwsRefusal(found.problems, subject="nothing was written")
    if arguments.delete and found.unsure:
        raise AwsRefusal(found.unsure, subject="nothing was deleted")
    if arguments.adopt:
        from llm_fleet.cli.retained.adoption import adopt
        from llm_fleet.cli.retained.listing import print_adoption
        from llm_fleet.cli.write_files import write_file

        adoption = adopt(clients, found, fleet, path)
        if adoption.changes:
            write_file(path, adoption.after, force=True)
        print_adoption(adoption, found, path, as_json=arguments.json)
    elif arguments.delete:
        return _delete(clients, found, fleet, arguments)
    else:
        found = with_users(clients, found, ours=(*found.items, *found.others))
        print_list(found, fleet, as_json=arguments.json)
    return ExitCode.NOT_CHECKED if found.problems else ExitCode.FINE


def _delete(clients: "AwsClients", found: "Survey", fleet: "Fleet", arguments: argparse.Namespace) -> int:
    """Delete what was found. Returns 1 if something was kept, 3 if that is only because AWS refused a call."""
    from llm_fleet.cli.retained.adoption import missing_names
    from llm_fleet.cli.retained.deletion import check_not_deployed, confirm, delete, without_tagged, without_used
    from llm_fleet.cli.retained.listing import print_deletion, print_list
    from llm_fleet.cli.retained.network_others import with_users
    from llm_fleet.cli.verb import ExitCode
    from llm_fleet.rules.feature_codes import CommandCode

    check_not_deployed(found, fleet)
    found, tagged = without_tagged(found, arguments.only)
    # Without --only, the others are those whose tag alone connects them with the fleet: they may be of another app.
    every = with_users(clients, found, ours=(*found.items, *(found.others if arguments.only else ())))
    found, used = without_used(every, arguments.only)
    if not arguments.json:
        print_list(replace(every, problems=found.problems), fleet, as_json=False)
    if found.items:
        confirm(fleet.name, arguments.yes, kept=used)
    deletion = delete(clients, found, known=tagged, kept=used)
    missing = missing_names(clients, fleet, exists=(*found.others, *deletion.kept), deleted=deletion.deleted)
    print_deletion(deletion, found, as_json=arguments.json, missing=missing)
    problems = (*found.problems, *deletion.problems)
    if not problems:
        return ExitCode.FINE
    return (
        ExitCode.NOT_CHECKED
        if all(isinstance(problem.code, CommandCode) for problem in problems)
        else ExitCode.PROBLEMS
    )
