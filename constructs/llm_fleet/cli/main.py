"""The command `llm-fleet`."""

import argparse
import os
import sys
from collections.abc import Sequence

from llm_fleet.cli.commands import (
    bundle,
    check,
    connect,
    events,
    fleet_file,
    jobs,
    logs,
    mirror,
    nodes,
    plan,
    update,
    upgrade,
)
from llm_fleet.cli.commands import verb as completion
from llm_fleet.cli.failures import ExitCode
from llm_fleet.cli.terminal.screen import ctrl_c_is_never_lost, plain_line
from llm_fleet.rules.command_codes import CommandCode
from llm_fleet.rules.problem import FleetError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process) and return its exit code.

    0: done. 1: there are problems, all of them on standard error. 2: the command line itself is wrong. 3: AWS could
    not be asked. 130: Ctrl-C. With `--json`, problems are on standard output too, as JSON.
    """
    arguments = argparse.Namespace()
    try:
        with ctrl_c_is_never_lost():
            _parser().parse_args(argv, arguments)
            code: int = arguments.run(arguments)
            sys.stdout.flush()
            return code
    except FleetError as error:
        return _told(error, as_json=getattr(arguments, "json", False))
    except SystemExit as leaving:  # argparse's own way out, with its message printed.
        return leaving.code if isinstance(leaving.code, int) else ExitCode.USAGE
    except BrokenPipeError:
        # The reader has gone, e.g. `| head`.
        _give_up_output()
        return 0
    except OSError as error:  # Files tell their own problems; what is left is standard output, e.g. a full disk.
        print(f"llm-fleet: the output cannot be written: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        _give_up_output()
        return ExitCode.PROBLEMS
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _told(error: FleetError, *, as_json: bool) -> int:
    """Print what is wrong and return the exit code."""
    # What AWS or a node says stands in it, and must not steer the terminal.
    print("\n".join(plain_line(line) for line in str(error).split("\n")), file=sys.stderr)
    if as_json:
        from llm_fleet.cli.terminal.screen import print_json, told_problem

        print_json({"problems": [told_problem(problem) for problem in error.problems], "subject": error.subject})
    not_asked = all(isinstance(problem.code, CommandCode) and problem.code.is_of_aws for problem in error.problems)
    return ExitCode.NOT_ASKED if not_asked else ExitCode.PROBLEMS


def _give_up_output() -> None:
    """Lead what is left of the output nowhere: Python would complain when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="llm-fleet", description="LLM infrastructure on AWS from one file, its mistakes told at once."
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    verb = verbs.add_parser(
        "import", help="turn a ParallelCluster configuration, or a request of create-cluster, into a fleet file"
    )
    verb.add_argument(
        "file",
        metavar="FILE",
        help="ParallelCluster's YAML; or a request of `aws sagemaker create-cluster` as JSON: whole, its groups, one "
        "group, or a filled-in skeleton. A key that is not understood is named and left out, and the exit code is 4",
    )
    verb.add_argument("--name", help="name of the cluster (default: the one in FILE, else that of FILE if it is short)")
    verb.add_argument("--region", help="AWS Region, e.g. us-west-2, where the file does not name it")
    verb.add_argument("--az", action="append", default=[], metavar="ID", help="AZ id, e.g. usw2-az4; one a subnet")
    verb.add_argument("--vpc", metavar="ID", help="id of the VPC that the file's subnets are in")
    verb.add_argument("-o", "--out", metavar="OUT", help="file to write (default: standard output)")
    verb.add_argument("--force", action="store_true", help="write over OUT")
    verb.set_defaults(run=fleet_file.import_)

    verb = verbs.add_parser("validate", help="tell every mistake in a fleet file at once; needs no AWS account")
    verb.add_argument("file", metavar="FILE", nargs="?", default="fleet.yaml", help="default: fleet.yaml")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=fleet_file.validate)

    verb = verbs.add_parser("schema", help="print the JSON Schema of the fleet file, for editors")
    verb.set_defaults(run=fleet_file.schema)

    for verb_of in (check, plan, nodes, connect, logs, events, upgrade, bundle, jobs, mirror, update):
        verb_of.add_to(verbs)
    completion.add_to(verbs, _parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
