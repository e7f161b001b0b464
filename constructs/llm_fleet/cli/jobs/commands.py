"""`llm-fleet jobs`: what its commands are given, and what `list`, `render` and `check` do."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.jobs import remote_commands
from llm_fleet.cli.jobs.told_settings import pairs, told_settings
from llm_fleet.cli.verbs import Verbs
from llm_fleet.rules.codes import Code

if TYPE_CHECKING:
    from llm_fleet.jobs.training_run import TrainingRun


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    jobs = verbs.add_parser("jobs", help="the batch files of training runs, with values checked")
    deeds = jobs.add_subparsers(title="commands", metavar="COMMAND", required=True)

    deed = deeds.add_parser("list", help="tell the stages there are, and the runs of a fleet file")
    deed.add_argument("fleet", nargs="?", type=Path, metavar="FLEET", help="a fleet file with `jobs:`")
    deed.add_argument("--json", action="store_true", help="print JSON, with every setting")
    deed.set_defaults(run=list_)

    deed = deeds.add_parser("render", help="write the batch files of a run, or of none, with values in them")
    deed.add_argument("fleet", nargs="?", type=Path, metavar="FLEET", help="the fleet file that names the run")
    deed.add_argument("name", nargs="?", metavar="RUN", help="which of its `jobs:`")
    deed.add_argument("--stage", action="append", metavar="STAGE", help="only this one, or these (default: all)")
    deed.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of a batch file")
    deed.add_argument(
        "--sbatch", action="append", default=[], metavar="NAME[=VALUE]", help="without FLEET: an option of sbatch"
    )
    deed.add_argument("-o", "--out", type=Path, metavar="FOLDER", help="default: the name of the run")
    deed.add_argument("--force", action="store_true", help="write over files in FOLDER")
    deed.set_defaults(run=render)

    deed = deeds.add_parser("check", help="tell what is wrong with batch files that were edited")
    deed.add_argument("files", nargs="+", type=Path, metavar="FILE", help="e.g. run.sh train.sbatch")
    deed.add_argument("--fleet", type=Path, metavar="FLEET", help="a fleet file: are there as many nodes?")
    deed.add_argument("--run", dest="name", metavar="RUN", help="which of its `jobs:` the files are of")
    deed.set_defaults(run=check)

    remote_commands.add_to(deeds)


def list_(arguments: argparse.Namespace) -> int:
    """Print stages and runs."""
    from llm_fleet.cli.jobs.listing import listing_json, listing_text

    runs = None if arguments.fleet is None else _runs(arguments.fleet)
    print(listing_json(runs) if arguments.json else listing_text(runs), end="")
    return 0


def render(arguments: argparse.Namespace) -> int:
    """Write batch files."""
    from llm_fleet.catalog.job_settings import shared_settings
    from llm_fleet.cli.jobs.write_folder import write_folder

    settings = told_settings(arguments.set)
    if arguments.fleet is None:
        files = _without_run(arguments, settings)
        name = settings.get("RUN") or shared_settings().settings["RUN"].default
    else:
        files = _of_run(arguments, settings)
        name = arguments.name
    folder = arguments.out or Path(str(name))
    write_folder(folder, files, force=arguments.force)
    print(f"wrote {len(files)} files to {folder}: {', '.join(files)}", file=sys.stderr)
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Check batch files; raise `FleetError` with what is wrong."""
    from llm_fleet.cli.jobs.edited_files import check_edited
    from llm_fleet.cli.jobs.run_of_fleet import run_of
    from llm_fleet.rules.problem import raise_problems

    if arguments.fleet is None and arguments.name is not None:
        refuse(
            Code.BATCH_DIRECTIVE,
            "--run names a run of a fleet file, and none is given",
            "add --fleet FLEET, or leave --run out",
        )
    partition = None if arguments.fleet is None else run_of(_runs(arguments.fleet), arguments.name).partition
    raise_problems(check_edited(arguments.files, partition), subject="batch files")
    print(f"{', '.join(map(str, arguments.files))}: good")
    return 0


def _without_run(arguments: argparse.Namespace, settings: Mapping[str, str]) -> Mapping[str, str]:
    from llm_fleet.jobs.render_run import render_stages

    files = render_stages(arguments.stage, settings=settings, options=pairs(arguments.sbatch))
    print("note: without a fleet file nothing tells whether the values go together, or fit the nodes", file=sys.stderr)
    return files


def _of_run(arguments: argparse.Namespace, settings: Mapping[str, str]) -> Mapping[str, str]:
    from llm_fleet.cli.jobs.run_of_fleet import run_of
    from llm_fleet.jobs.render_run import render_run

    if arguments.sbatch:
        refuse(
            Code.BATCH_DIRECTIVE,
            "--sbatch is for batch files without a fleet file; with one, the run tells nodes and partition",
            "leave it out",
        )
    return render_run(run_of(_runs(arguments.fleet), arguments.name), stages=arguments.stage, settings=settings)


def _runs(fleet: Path) -> "Mapping[str, TrainingRun]":
    from llm_fleet.config.load import load_fleet
    from llm_fleet.jobs.from_fleet import training_runs

    return training_runs(load_fleet(fleet))
