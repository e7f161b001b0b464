"""The command `llm-fleet import`."""

import argparse
import sys
from pathlib import Path

from llm_fleet.cli.verb import ExitCode, Verbs, add_verb


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    verb = add_verb(
        verbs,
        "import",
        help="convert a ParallelCluster configuration, or a request for create-cluster, into a fleet file",
        examples=(
            "import create-cluster.json --az usw2-az4 -o fleet.yaml",
            "import cluster-config.yaml --region us-west-2 --name train",
        ),
    )
    verb.add_argument(
        "source",
        metavar="SOURCE",
        help="ParallelCluster configuration (YAML), or request for `aws sagemaker create-cluster` (JSON): the whole "
        "request, its groups, one group, or a filled-in skeleton. Unknown keys are reported and left out; exit code 4",
    )
    verb.add_argument(
        "--name", help="name of the cluster (default: the one in SOURCE, else the file name of SOURCE if it is short)"
    )
    verb.add_argument("--region", help="AWS Region, e.g. us-west-2, if SOURCE does not name it")
    verb.add_argument(
        "--az", action="append", default=[], metavar="ID", help="AZ id, e.g. usw2-az4; repeat it for each subnet"
    )
    verb.add_argument("--vpc", metavar="ID", help="id of the VPC of the subnets in SOURCE")
    verb.add_argument("-o", "--out", metavar="OUT", help="file to write (default: standard output)")
    verb.add_argument("--force", action="store_true", help="overwrite OUT")
    verb.set_defaults(run=import_)


def import_(arguments: argparse.Namespace) -> int:
    """Print or write the fleet file. Returns 4 if unknown keys were left out."""
    from llm_fleet.cli.importing.importer import ImportFailure, import_request
    from llm_fleet.cli.write_files import write_file

    try:
        imported = import_request(
            Path(arguments.source),
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
