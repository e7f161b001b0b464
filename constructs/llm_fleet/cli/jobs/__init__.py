"""The verb `jobs`: what happens on this machine, and what happens on the cluster."""

import argparse
import json
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet.cli.verb import Verbs, refuse
from llm_fleet.rules.codes import Code

if TYPE_CHECKING:
    from llm_fleet.cli.session import Session
    from llm_fleet.fleet_file.fleet import Fleet
    from llm_fleet.jobs.settings import TrainingRun


def pairs(words: Sequence[str]) -> dict[str, str | None]:
    """Return the values by name; `None` for a word without `=`."""
    parts = [word.partition("=") for word in words]
    return {name: value if equals else None for name, equals, value in parts}


def reported_settings(words: Sequence[str]) -> dict[str, str]:
    """Return the settings of `--set` by name; one without `=` is empty."""
    return {name: value or "" for name, value in pairs(words).items()}


_IN_A_ROW = ("download", "tokenize", "compile", "train", "train-nemo-megatron", "convert", "export")
"""What is submitted unless stages are named: the way from a model's name to one that is served."""
_DIGITS = 10
"""No log has lines of as many digits."""


def add_remote_to(deeds: Verbs) -> None:
    """Add the commands to `llm-fleet jobs`."""
    deed = deeds.add_parser("submit", help="submit a run on its cluster, through Session Manager")
    _which_run(deed)
    deed.add_argument("--stage", action="append", metavar="STAGE", help="only this one, or these, one after the other")
    deed.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of a batch file")
    deed.add_argument("--json", action="store_true", help="print JSON")
    deed.set_defaults(run=submit)

    deed = deeds.add_parser("logs", help="show what a job of a run writes")
    _which_run(deed)
    deed.add_argument("--stage", default="train", metavar="STAGE", help="its newest job (default: train)")
    deed.add_argument("--job", type=_job_id, metavar="ID", help="the job with this id")
    deed.add_argument("-f", "--follow", action="store_true", help="show all of it, until the job has ended")
    deed.add_argument(
        "-n", "--lines", type=_count, default=50, metavar="N", help="without -f: the last N (default: 50)"
    )
    deed.set_defaults(run=logs)


def submit(arguments: argparse.Namespace) -> int:
    """Submit stages, each after the last."""
    from llm_fleet.cli.jobs.submission import Submission
    from llm_fleet.jobs.render_run import render_run
    from llm_fleet.jobs.settings import stages_of

    fleet, run = _run(arguments)
    stages = tuple(dict.fromkeys(arguments.stage or (name for name in stages_of(run) if name in _IN_A_ROW)))
    submission = Submission(
        run=run.name,
        run_folder=run.plan.folder,
        files=render_run(run, stages=stages, settings=reported_settings(arguments.set)),
        stages=stages,
        id=f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}",
    )
    submitted = submission.send(_session(fleet, run, arguments.user))
    if arguments.json:
        rows = [{"stage": one.stage, "job_id": one.job_id, "log": one.log} for one in submitted]
        print(json.dumps({"jobs": rows}, indent=1))
        return 0
    for one in submitted:
        print(f"job {one.job_id}  {one.stage}  {one.log}")
    which = " ".join(str(word) for word in (arguments.fleet, arguments.name) if word)
    print(f"follow it: llm-fleet jobs logs {which} --stage {submitted[0].stage} -f")
    return 0


def logs(arguments: argparse.Namespace) -> int:
    """Show a log."""
    from llm_fleet.cli.jobs.submission import JobLog

    fleet, run = _run(arguments)
    _check_stage(arguments.stage)
    log = JobLog(run=run.name, run_folder=run.plan.folder, stage=arguments.stage, job_id=arguments.job)
    session = _session(fleet, run, arguments.user)
    if arguments.follow:
        log.follow(session, _print_line)
    else:
        log.show(session, _print_line, lines=arguments.lines)
    return 0


def _which_run(deed: argparse.ArgumentParser) -> None:
    deed.add_argument("fleet", type=Path, metavar="FLEET", help="the fleet file that names the run")
    deed.add_argument("name", nargs="?", metavar="RUN", help="which of its `jobs:`, of several")
    deed.add_argument(
        "--user", metavar="NAME", help="who on the cluster (default: the one of `users:`, else the image's)"
    )


def _run(arguments: argparse.Namespace) -> "tuple[Fleet, TrainingRun]":
    from llm_fleet.cli.jobs.submission import run_of
    from llm_fleet.fleet_file.load import load_fleet
    from llm_fleet.jobs.render_run import training_runs

    fleet = load_fleet(arguments.fleet)
    return fleet, run_of(training_runs(fleet), arguments.name)


def _session(fleet: "Fleet", run: "TrainingRun", user: str | None) -> "Session":
    from llm_fleet.cli.jobs.submission import user_of
    from llm_fleet.cli.nodes.slurm_view import find_target
    from llm_fleet.cli.session import Session

    cluster = fleet.clusters[run.partition.cluster]
    name = user_of(cluster, user)
    return Session(find_target(cluster, fleet.region), user=name)


def _print_line(line: str) -> None:
    print(line, flush=True)


def _check_stage(name: str) -> None:
    """Raise `FleetError` (LF884) when there is no stage of this name."""
    from llm_fleet.catalog.training_environments import job_stages
    from llm_fleet.cli.verb import refuse
    from llm_fleet.rules.values import did_you_mean

    known = list(job_stages())
    if name not in known:
        remedy = did_you_mean(name, known, otherwise=f"name one of {', '.join(known)}")
        refuse(Code.BATCH_STAGE, "there is no such stage", remedy, value=name)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < _DIGITS and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of lines, 1 or more")
    return int(text)


def _job_id(text: str) -> str:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no job's id: a number, as `jobs submit` and squeue tell it")
    return text


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

    add_remote_to(deeds)


def list_(arguments: argparse.Namespace) -> int:
    """Print stages and runs."""
    from llm_fleet.cli.jobs.submission import listing_json, listing_text

    runs = None if arguments.fleet is None else _runs(arguments.fleet)
    print(listing_json(runs) if arguments.json else listing_text(runs), end="")
    return 0


def render(arguments: argparse.Namespace) -> int:
    """Write batch files."""
    from llm_fleet.catalog.training_environments import shared_settings
    from llm_fleet.cli.write_files import write_folder

    settings = reported_settings(arguments.set)
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
    from llm_fleet.cli.jobs.submission import check_edited, run_of
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
    from llm_fleet.cli.jobs.submission import run_of
    from llm_fleet.jobs.render_run import render_run

    if arguments.sbatch:
        refuse(
            Code.BATCH_DIRECTIVE,
            "--sbatch is for batch files without a fleet file; with one, the run tells nodes and partition",
            "leave it out",
        )
    return render_run(run_of(_runs(arguments.fleet), arguments.name), stages=arguments.stage, settings=settings)


def _runs(fleet: Path) -> "Mapping[str, TrainingRun]":
    from llm_fleet.fleet_file.load import load_fleet
    from llm_fleet.jobs.render_run import training_runs

    return training_runs(load_fleet(fleet))
