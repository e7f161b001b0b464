"""The command `llm-fleet`."""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import date

from llm_fleet.cli import (
    bundle,
    check,
    connect,
    events,
    facts,
    importing,
    jobs,
    local,
    logs,
    mirror,
    new,
    nodes,
    parallelcluster,
    plan,
    prove,
    retained,
    upgrade,
)
from llm_fleet.cli.place import FILE_RULE, add_file, file_of
from llm_fleet.cli.screen import ctrl_c_is_never_lost, plain_line
from llm_fleet.cli.verb import CommandLine, ExitCode, add_completion_to, add_verb
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import FleetError


def main(argv: Sequence[str] | None = None, *, today: date | None = None) -> int:
    """Run the command line `argv` (default: that of the process) and return its exit code.

    `today`: the day from which the age of facts is counted (default: the current day).

    0: done. 1: there are problems, which are on standard error. 2: the command line is wrong. 3: a call to AWS failed.
    130: Ctrl-C. With `--json`, problems are also on standard output, as JSON.
    """
    arguments = argparse.Namespace(today=today or date.today())
    try:
        with ctrl_c_is_never_lost():
            _parser().parse_args(argv, arguments)
            code: int = arguments.run(arguments)
            sys.stdout.flush()
            return code
    except FleetError as error:
        return _print_problems(error, as_json=getattr(arguments, "json", False))
    except SystemExit as leaving:  # argparse exits like this after it has printed its message.
        return leaving.code if isinstance(leaving.code, int) else ExitCode.USAGE
    except BrokenPipeError:
        # The reader has closed the pipe, e.g. `| head`.
        _give_up_output()
        return 0
    except OSError as error:  # Errors of files are problems, so this is one of standard output, e.g. a full disk.
        print(f"llm-fleet: cannot write the output: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        _give_up_output()
        return ExitCode.PROBLEMS
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _print_problems(error: FleetError, *, as_json: bool) -> int:
    """Print the problems and return the exit code."""
    # Texts of AWS and of nodes are in it: control characters are removed.
    print("\n".join(plain_line(line) for line in str(error).split("\n")), file=sys.stderr)
    if as_json:
        from llm_fleet.cli.screen import print_json

        print_json({"problems": error.problems, "subject": error.subject})
    not_checked = all(isinstance(problem.code, CommandCode) and problem.code.is_of_aws for problem in error.problems)
    return ExitCode.NOT_CHECKED if not_checked else ExitCode.PROBLEMS


def _give_up_output() -> None:
    """Redirect standard output to /dev/null: Python would report an error when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # codespell:ignore wronly


class _PrintVersion(argparse.Action):
    """The version is read only when it is printed: that takes longer than `--help`."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print("llm-fleet", version("llm-fleet"))
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = CommandLine(
        prog="llm-fleet",
        description="Deploy and operate LLM infrastructure on AWS from one fleet file.",
        epilog=FILE_RULE,
    )
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version and exit")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    new.add_to(verbs)
    importing.add_to(verbs)
    verb = add_verb(
        verbs,
        "validate",
        help="report every error in a fleet file; needs no AWS account",
        examples=("validate", "validate -f examples/hyperpod-trn1.yaml --json"),
    )
    add_file(verb, argument=True)
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=_validate)

    verb = add_verb(
        verbs,
        "schema",
        help="print the JSON Schema of the fleet file, for editors",
        examples=("schema", "schema > fleet.schema.json"),
    )
    verb.set_defaults(run=_schema)

    for verb_of in (
        local,
        check,
        plan,
        prove,
        retained,
        nodes,
        connect,
        logs,
        events,
        upgrade,
        bundle,
        jobs,
        mirror,
        parallelcluster,
        facts,
    ):
        verb_of.add_to(verbs)
    add_completion_to(verbs, _parser)
    return parser


def _validate(arguments: argparse.Namespace) -> int:
    """Check a fleet file."""
    from llm_fleet.catalog.data_file import loaded_data_files
    from llm_fleet.cli.facts import check_with_account_facts
    from llm_fleet.cli.facts.ages import note_of_old, old_files
    from llm_fleet.cli.screen import counted, print_notes
    from llm_fleet.fleet_file.load import load_fleet

    path = file_of(arguments)
    fleet = load_fleet(path)
    used = loaded_data_files()
    old = old_files((*used, *check_with_account_facts(fleet, path)), arguments.today)
    counts = {
        "cluster": len(fleet.clusters),
        "node": sum(cluster.node_count for cluster in fleet.clusters.values()),
        "service": len(fleet.services),
        "job": len(fleet.jobs),
        "notebook": len(fleet.notebooks),
        "Studio": int(fleet.studio is not None),
        "endpoint": len(fleet.endpoints),
        "training job": len(fleet.training_jobs),
        "watch": int(fleet.watch is not None),
    }
    if arguments.json:
        from llm_fleet.cli.screen import print_json

        print_json(
            {
                "file": str(path),
                "fleet": fleet.name,
                "region": fleet.region,
                "has": counts,
                "problems": [],
                "old_facts": [one.name for one in old],
            }
        )
        return 0
    without_nodes = any(number for what, number in counts.items() if what not in ("cluster", "node", "job"))
    shown = ("cluster", "node") if fleet.clusters or not without_nodes else ()
    found = [counted(number, what) for what, number in counts.items() if number or what in shown]
    print(f"{path}: valid; {', '.join(found)} in {fleet.region}", flush=True)
    print_notes(note_of_old(old, arguments.today), ())
    return 0


def _schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of the fleet file."""
    from llm_fleet.fleet_file.schema import schema_text

    print(schema_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
