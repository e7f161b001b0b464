"""The command `llm-fleet facts`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet.cli.place import add_file, file_of
from llm_fleet.cli.verb import Verbs, add_verb

if TYPE_CHECKING:
    from llm_fleet.catalog.data_file import DataFile
    from llm_fleet.fleet_file.fleet import Fleet

_JSON = "print JSON"


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "facts",
        help="show the facts about AWS, Slurm and Neuron in this release: source, date, age",
        examples=("facts", "facts --only lustre --only prices/karpenter"),
    )
    verb.add_argument(
        "--only", action="append", metavar="NAME", help="only these facts, with the whole source; repeatable"
    )
    verb.add_argument("--json", action="store_true", help=_JSON)
    verb.set_defaults(run=show)

    commands = verb.add_subparsers(title="commands", metavar="COMMAND")
    verb = add_verb(
        commands,
        "refresh",
        help="read facts of this fleet from your AWS account into a file, which validate and plan use before ours",
        examples=("facts refresh", "facts refresh -f fleet.yaml --json"),
    )
    add_file(verb)
    verb.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="file to write (default: llm-fleet-facts.json next to the fleet file, where other commands read it)",
    )
    # Suppressed, because the default of a subcommand would replace the value of `facts --json refresh`.
    verb.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=_JSON)
    verb.set_defaults(run=refresh, usage=verb.error)


def show(arguments: argparse.Namespace) -> int:
    """Print the facts, the oldest first, with those of an account in the current directory."""
    from llm_fleet.cli.facts.ages import as_data, as_text, facts_named
    from llm_fleet.cli.screen import Screen, print_json
    from llm_fleet.named_files.account_file import facts_next_to
    from llm_fleet.named_files.named_file import ACCOUNT_FILE

    account = facts_next_to(Path(ACCOUNT_FILE))
    found = facts_named(arguments.only, of_account=() if account is None else account.data_files())
    if arguments.json:
        print_json(as_data(found, arguments.today))
    else:
        sys.stdout.write(as_text(found, arguments.today, Screen.of_output(), whole_source=bool(arguments.only)))
    return 0


def refresh(arguments: argparse.Namespace) -> int:
    """Write the file of the account's facts. Returns 3 if AWS refused a call."""
    from llm_fleet.cli.check.question import Account
    from llm_fleet.cli.clients import AwsClients
    from llm_fleet.cli.facts.account_facts import load_with_new_types, refreshed, stored_facts
    from llm_fleet.cli.screen import print_json, print_notes
    from llm_fleet.cli.verb import ExitCode
    from llm_fleet.cli.write_files import write_file
    from llm_fleet.named_files.named_file import ACCOUNT_FILE

    if arguments.only:
        arguments.usage("--only is for the table of facts, not for refresh")
    file = file_of(arguments)
    fleet = load_with_new_types(file)
    out: Path = arguments.out or file.parent / ACCOUNT_FILE
    result = refreshed(Account(AwsClients(region=fleet.region)), fleet, stored_facts(out), arguments.today)
    facts = result.facts
    write_file(out, facts.text(), force=True)
    counts = {kind.value.replace("_", " "): len(getattr(facts, kind)) for kind in facts.checked}
    if arguments.json:
        print_json(
            {
                "file": str(out),
                "account": facts.account,
                "region": facts.region,
                "counts": counts,
                "checked": facts.checked,
                "remarks": result.remarks,
                "problems": result.problems,
            }
        )
    else:
        shown = ", ".join(f"{number} {kind}" for kind, number in counts.items()) or "no facts"
        print(f"wrote {out}: {shown}; account {facts.account}, {facts.region}", flush=True)
        print_notes(result.remarks, result.problems)
    return ExitCode.NOT_CHECKED if result.problems else ExitCode.FINE


def check_with_account_facts(fleet: "Fleet", file: Path) -> "tuple[DataFile, ...]":
    """Check `fleet` against the account's facts next to its file, and return what these are about, for their age.

    Raises `FleetError` with the problems. Without such a file nothing is checked.
    """
    from llm_fleet.cli.facts.account_check import check_account_facts
    from llm_fleet.fleet_file.document import parse, read_text
    from llm_fleet.named_files.account_file import facts_next_to
    from llm_fleet.rules.problem import raise_problems

    facts = facts_next_to(file)
    if facts is None:
        return ()
    problems = list(check_account_facts(fleet, facts))
    if problems:
        document = parse(read_text(file), subject=str(file))
        raise_problems([document.locate(problem) for problem in problems], subject=str(file))
    return tuple(facts.data_files())
