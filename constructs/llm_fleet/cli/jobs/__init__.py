"""The command `llm-fleet jobs`: batch files on this machine, and jobs on the cluster."""

import argparse
import json
import secrets
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet.cli.place import add_file, file_if_any, file_of
from llm_fleet.cli.verb import Verbs, add_verb, refuse
from llm_fleet.rules.codes import Code

if TYPE_CHECKING:
    from llm_fleet.cli.session import Session
    from llm_fleet.fleet_file.fleet import Fleet
    from llm_fleet.jobs.settings import TrainingRun


def pairs(words: Sequence[str]) -> dict[str, str | None]:
    """Return the values by name; `None` for a word without `=`."""
    parts = [word.partition("=") for word in words]
    return {name: value if equals else None for name, equals, value in parts}


def settings_of(words: Sequence[str]) -> dict[str, str]:
    """Return the settings of `--set` by name; one without `=` is empty."""
    return {name: value or "" for name, value in pairs(words).items()}


_IN_A_ROW = ("download", "tokenize", "compile", "train", "train-nemo-megatron", "convert", "export")
"""Stages that are submitted by default, in this order: from the model's name to a model for serving."""
_DIGITS = 10
"""Longest number of lines."""


def add_remote_to(commands: Verbs) -> None:
    """Add the commands to `llm-fleet jobs`."""
    command = add_verb(
        commands,
        "submit",
        help="submit a training run to its cluster through Session Manager",
        examples=("jobs submit", "jobs submit llama2-7b --stage compile --stage train -f fleet.yaml"),
    )
    _add_run(command)
    _add_user(command)
    command.add_argument(
        "--stage", action="append", metavar="STAGE", help="only this stage; repeatable: stages run in the given order"
    )
    _add_settings(command)
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=submit)

    command = add_verb(
        commands,
        "logs",
        help="show the log of a job of a training run",
        examples=("jobs logs", "jobs logs llama2-7b --stage compile --follow"),
    )
    _add_run(command)
    _add_user(command)
    command.add_argument(
        "--stage", default="train", metavar="STAGE", help="show the newest job of this stage (default: train)"
    )
    command.add_argument("--job", type=_job_id, metavar="ID", help="show the job with this id")
    command.add_argument("--follow", action="store_true", help="show the whole log, until the job has ended")
    command.add_argument(
        "-n",
        "--lines",
        type=_count,
        default=50,
        metavar="N",
        help="without --follow: show the last N lines (default: 50)",
    )
    command.set_defaults(run=logs)


def submit(arguments: argparse.Namespace) -> int:
    """Submit the stages; each starts after the one before has succeeded."""
    from llm_fleet.cli.jobs.submission import Submission
    from llm_fleet.jobs.render_run import render_run
    from llm_fleet.jobs.settings import stages_of

    fleet, run = _run(arguments)
    stages = tuple(dict.fromkeys(arguments.stage or (name for name in stages_of(run) if name in _IN_A_ROW)))
    submission = Submission(
        run=run.name,
        run_folder=run.plan.folder,
        files=render_run(run, stages=stages, settings=settings_of(arguments.set)),
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
    file = f" -f {shlex.quote(arguments.file)}" if arguments.file else ""
    print(f"to follow the log: llm-fleet jobs logs {run.name} --stage {submitted[0].stage} --follow{file}")
    return 0


def logs(arguments: argparse.Namespace) -> int:
    """Print the log of a job."""
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


def _add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "name", nargs="?", metavar="RUN", help="key under `jobs:` in the fleet file (default: the only one)"
    )
    add_file(command)


def _add_user(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--user", metavar="NAME", help="Unix user on the cluster (default: the only one of `users:`, else the AMI's)"
    )


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="setting of a batch file")


def _run(arguments: argparse.Namespace) -> "tuple[Fleet, TrainingRun]":
    from llm_fleet.cli.jobs.submission import run_of
    from llm_fleet.fleet_file.load import load_fleet
    from llm_fleet.jobs.render_run import training_runs

    fleet = load_fleet(file_of(arguments))
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
    """Raise `FleetError` (LF884) if there is no stage `name`."""
    from llm_fleet.catalog.training_environments import job_stages
    from llm_fleet.cli.verb import refuse
    from llm_fleet.rules.values import did_you_mean

    known = list(job_stages())
    if name not in known:
        remedy = did_you_mean(name, known, otherwise=f"name one of {', '.join(known)}")
        refuse(Code.BATCH_STAGE, "unknown stage", remedy, value=name)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < _DIGITS and int(text) > 0):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of lines; write an integer of at least 1")
    return int(text)


def _job_id(text: str) -> str:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(
            f"`{text}` is not a job id; write the number that `llm-fleet jobs submit` or `squeue` shows"
        )
    return text


def add_to(verbs: Verbs) -> None:
    """Add the command to the command line."""
    jobs = add_verb(
        verbs,
        "jobs",
        help="list, write, check and submit the batch files of training runs",
        examples=("jobs submit llama2-7b", "jobs logs llama2-7b --follow"),
    )
    commands = jobs.add_subparsers(title="commands", metavar="COMMAND", required=True)

    command = add_verb(
        commands,
        "list",
        help="list the stages, and the training runs of the fleet file if there is one",
        examples=("jobs list", "jobs list -f fleet.yaml --json"),
    )
    add_file(command)
    command.add_argument("--json", action="store_true", help="print JSON, with every setting")
    command.set_defaults(run=list_)

    command = add_verb(
        commands,
        "render",
        help="write the batch files of a training run; without a fleet file, with default values",
        examples=("jobs render llama2-7b", "jobs render llama2-7b --stage compile --set COMPILE_STEPS=8 -o compile"),
    )
    _add_run(command)
    command.add_argument("--stage", action="append", metavar="STAGE", help="only this stage; repeatable (default: all)")
    _add_settings(command)
    command.add_argument(
        "--sbatch",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="option of sbatch; only without a fleet file",
    )
    command.add_argument("-o", "--out", type=Path, metavar="FOLDER", help="directory (default: the name of the run)")
    command.add_argument("--force", action="store_true", help="overwrite files in FOLDER")
    command.set_defaults(run=render)

    command = add_verb(
        commands,
        "check",
        help="check batch files that were edited",
        examples=("jobs check run.sh train.sbatch", "jobs check train.sbatch --run llama2-7b -f fleet.yaml"),
    )
    command.add_argument(
        "batch_files", nargs="+", type=Path, metavar="BATCH_FILE", help="batch file, e.g. run.sh or train.sbatch"
    )
    command.add_argument(
        "--run", dest="name", metavar="RUN", help="also check the number of nodes against this training run"
    )
    add_file(command)
    command.set_defaults(run=check)

    add_remote_to(commands)


def list_(arguments: argparse.Namespace) -> int:
    """Print stages and runs."""
    from llm_fleet.cli.jobs.submission import listing_json, listing_text

    file = file_if_any(arguments)
    runs = None if file is None else _runs(file)
    print(listing_json(runs) if arguments.json else listing_text(runs), end="")
    return 0


def render(arguments: argparse.Namespace) -> int:
    """Write batch files."""
    from llm_fleet.catalog.training_environments import shared_settings
    from llm_fleet.cli.write_files import write_folder

    settings = settings_of(arguments.set)
    if arguments.name is None and file_if_any(arguments) is None:
        files = _without_run(arguments, settings)
        name = settings.get("RUN") or shared_settings().settings["RUN"].default
    else:
        name, files = _of_run(arguments, settings)
    folder = arguments.out or Path(str(name))
    write_folder(folder, files, force=arguments.force)
    print(f"wrote {len(files)} files to {folder}: {', '.join(files)}", file=sys.stderr)
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Check batch files; raise `FleetError` with all errors."""
    from llm_fleet.cli.jobs.submission import check_edited, run_of
    from llm_fleet.rules.problem import raise_problems

    files: list[Path] = arguments.batch_files
    has_run = arguments.name is not None or arguments.file is not None
    partition = run_of(_runs(file_of(arguments)), arguments.name).partition if has_run else None
    raise_problems(check_edited(files, partition), subject="batch files")
    print(f"{', '.join(map(str, files))}: valid")
    return 0


def _without_run(arguments: argparse.Namespace, settings: Mapping[str, str]) -> Mapping[str, str]:
    from llm_fleet.jobs.render_run import render_stages

    files = render_stages(arguments.stage, settings=settings, options=pairs(arguments.sbatch))
    print(
        "note: without a fleet file, the values are not checked against each other or against the nodes",
        file=sys.stderr,
    )
    return files


def _of_run(arguments: argparse.Namespace, settings: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    from llm_fleet.cli.jobs.submission import run_of
    from llm_fleet.jobs.render_run import render_run

    if arguments.sbatch:
        refuse(
            Code.BATCH_DIRECTIVE,
            "--sbatch has no effect with a fleet file: the run sets nodes and partition",
            "remove --sbatch",
        )
    run = run_of(_runs(file_of(arguments)), arguments.name)
    return run.name, render_run(run, stages=arguments.stage, settings=settings)


def _runs(file: Path) -> "Mapping[str, TrainingRun]":
    from llm_fleet.fleet_file.load import load_fleet
    from llm_fleet.jobs.render_run import training_runs

    return training_runs(load_fleet(file))
