"""The verbs `import`, `validate` and `schema`: all that needs only files.

Imports stand inside, so that `llm-fleet --help` and `schema` stay quick.
"""

import argparse
import sys
from pathlib import Path

from llm_fleet.cli.failures import ExitCode


def validate(arguments: argparse.Namespace) -> int:
    """Check a fleet file."""
    from llm_fleet.cli.terminal.screen import counted
    from llm_fleet.fleet_file.load import load_fleet

    path = Path(arguments.file)
    fleet = load_fleet(path)
    told = {
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
        from llm_fleet.cli.terminal.screen import print_json

        print_json({"file": str(path), "fleet": fleet.name, "region": fleet.region, "has": told, "problems": []})
        return 0
    without_nodes = any(number for what, number in told.items() if what not in ("cluster", "node", "job"))
    shown = ("cluster", "node") if fleet.clusters or not without_nodes else ()
    found = [counted(number, what) for what, number in told.items() if number or what in shown]
    print(f"{path}: good; {', '.join(found)} in {fleet.region}")
    return 0


def schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of the fleet file."""
    from llm_fleet.fleet_file.schema import schema_text

    print(schema_text(), end="")
    return 0


def import_(arguments: argparse.Namespace) -> int:
    """Turn a request into a fleet file."""
    from llm_fleet.cli.atomic_write import write_file
    from llm_fleet.cli.importing.importer import ImportFailure, import_request

    try:
        imported = import_request(
            Path(arguments.file),
            name=arguments.name,
            region=arguments.region,
            zones=tuple(arguments.az),
            vpc=arguments.vpc,
        )
    except ImportFailure as failure:
        _tell(failure.notes)
        raise
    if arguments.out is None:
        print(imported.text, end="")
    else:
        write_file(Path(arguments.out), imported.text, force=arguments.force)
    _tell(imported.notes)
    if arguments.out is not None:
        print(f"wrote {arguments.out}", file=sys.stderr)
    return ExitCode.NOT_UNDERSTOOD if imported.not_understood else ExitCode.FINE


def _tell(notes: tuple[object, ...]) -> None:
    for note in notes:
        print(note, file=sys.stderr)
