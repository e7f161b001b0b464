"""The command `llm-fleet`."""

import argparse
import os
import sys
from collections.abc import Sequence

from llm_fleet.cli import commands
from llm_fleet.cli.jobs import commands as jobs
from llm_fleet.cli.mirror import commands as mirror
from llm_fleet.cli.update import commands as update
from llm_fleet.rules.problem import FleetError

_PROBLEMS = 1
_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process) and return its exit code.

    0: done. 1: there are problems, all of them on standard error. 2: the command line itself is wrong.
    """
    try:
        arguments = _parser().parse_args(argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except FleetError as error:
        print(error, file=sys.stderr)
        return _PROBLEMS
    except SystemExit as leaving:  # argparse's own way out, with its message printed.
        return leaving.code if isinstance(leaving.code, int) else _USAGE
    except BrokenPipeError:
        # The reader has gone, e.g. `| head`.
        _give_up_output()
        return 0
    except OSError as error:  # Files tell their own problems; what is left is standard output, e.g. a full disk.
        print(f"llm-fleet: the output cannot be written: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        _give_up_output()
        return _PROBLEMS
    except KeyboardInterrupt:
        return 128 + 2


def _give_up_output() -> None:
    """Lead what is left of the output nowhere: Python would complain when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="llm-fleet", description="LLM training infrastructure on AWS from one file, its mistakes told at once."
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    verb = verbs.add_parser(
        "import", help="turn a ParallelCluster configuration, or a request of create-cluster, into a fleet file"
    )
    verb.add_argument(
        "file",
        metavar="FILE",
        help="ParallelCluster's YAML; or a request of `aws sagemaker create-cluster` as JSON: whole, its groups, or a "
        "filled-in skeleton",
    )
    verb.add_argument("--region", help="AWS Region, e.g. us-west-2, where the file does not name it")
    verb.add_argument("--az", action="append", default=[], metavar="ID", help="AZ id, e.g. usw2-az4; one a subnet")
    verb.add_argument("--vpc", metavar="ID", help="id of the VPC that the file's subnets are in")
    verb.add_argument("-o", "--out", metavar="OUT", help="file to write (default: standard output)")
    verb.add_argument("--force", action="store_true", help="write over OUT")
    verb.set_defaults(run=commands.import_)

    verb = verbs.add_parser("validate", help="tell every mistake in a fleet file at once; needs no AWS account")
    verb.add_argument("file", metavar="FILE", nargs="?", default="fleet.yaml", help="default: fleet.yaml")
    verb.set_defaults(run=commands.validate)

    verb = verbs.add_parser("schema", help="print the JSON Schema of the fleet file, for editors")
    verb.set_defaults(run=commands.schema)

    jobs.add_to(verbs)
    mirror.add_to(verbs)
    update.add_to(verbs)
    return parser


if __name__ == "__main__":
    sys.exit(main())
