"""`llm-fleet import`: what it is given, and what it does."""

import argparse
import sys
from pathlib import Path

from llm_fleet.cli.verb import ExitCode, Verbs


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
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
    verb.set_defaults(run=import_)


def import_(arguments: argparse.Namespace) -> int:
    """Turn a request into a fleet file."""
    from llm_fleet.cli.importing.importer import ImportFailure, import_request
    from llm_fleet.cli.write_files import write_file

    try:
        imported = import_request(
            Path(arguments.file),
            name=arguments.name,
            region=arguments.region,
            zones=tuple(arguments.az),
            vpc=arguments.vpc,
        )
    except ImportFailure as failure:
        _report(failure.notes)
        raise
    if arguments.out is None:
        print(imported.text, end="")
    else:
        write_file(Path(arguments.out), imported.text, force=arguments.force)
    _report(imported.notes)
    if arguments.out is not None:
        print(f"wrote {arguments.out}", file=sys.stderr)
    return ExitCode.NOT_UNDERSTOOD if imported.not_understood else ExitCode.FINE


def _report(notes: tuple[object, ...]) -> None:
    for note in notes:
        print(note, file=sys.stderr)
