"""`llm-fleet jobs submit` and `logs`: what they are given, and what they do."""

import argparse
import json
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llm_fleet.cli.jobs.told_settings import told_settings
from llm_fleet.cli.verbs import Verbs
from llm_fleet.rules.codes import Code

if TYPE_CHECKING:
    from llm_fleet.cli.jobs.submission import Submitted
    from llm_fleet.cli.session.session import Session
    from llm_fleet.config.fleet import Fleet
    from llm_fleet.jobs.training_run import TrainingRun

_IN_A_ROW = ("download", "tokenize", "compile", "train", "train-nemo-megatron", "convert", "export")
"""What is submitted unless stages are named: the way from a model's name to one that is served."""

_DIGITS = 10
"""No log has lines of as many digits."""


def add_to(deeds: Verbs) -> None:
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
    from llm_fleet.jobs.stages import stages_of

    fleet, run = _run(arguments)
    stages = tuple(dict.fromkeys(arguments.stage or (name for name in stages_of(run) if name in _IN_A_ROW)))
    submission = Submission(
        run=run.name,
        run_folder=run.plan.folder,
        files=render_run(run, stages=stages, settings=told_settings(arguments.set)),
        stages=stages,
        id=f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}",
    )
    submitted = submission.send(_session(fleet, run, arguments.user))
    print(_submitted_json(submitted) if arguments.json else _submitted_text(submitted, arguments), end="")
    return 0


def logs(arguments: argparse.Namespace) -> int:
    """Show a log."""
    from llm_fleet.cli.jobs.job_log import JobLog

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
    from llm_fleet.cli.jobs.run_of_fleet import run_of
    from llm_fleet.config.load import load_fleet
    from llm_fleet.jobs.from_fleet import training_runs

    fleet = load_fleet(arguments.fleet)
    return fleet, run_of(training_runs(fleet), arguments.name)


def _session(fleet: "Fleet", run: "TrainingRun", user: str | None) -> "Session":
    from llm_fleet.cli.jobs.user import user_of
    from llm_fleet.cli.session.session import Session
    from llm_fleet.cli.session.target import find_target

    cluster = fleet.clusters[run.partition.cluster]
    name = user_of(cluster, user)
    return Session(find_target(cluster, fleet.region), user=name)


def _submitted_json(submitted: "Sequence[Submitted]") -> str:
    rows = [{"stage": one.stage, "job_id": one.job_id, "log": one.log} for one in submitted]
    return json.dumps({"jobs": rows}, indent=1) + "\n"


def _submitted_text(submitted: "Sequence[Submitted]", arguments: argparse.Namespace) -> str:
    lines = [f"job {one.job_id}  {one.stage}  {one.log}\n" for one in submitted]
    which = " ".join(str(word) for word in (arguments.fleet, arguments.name) if word)
    return "".join(lines) + f"follow it: llm-fleet jobs logs {which} --stage {submitted[0].stage} -f\n"


def _print_line(line: str) -> None:
    print(line, flush=True)


def _check_stage(name: str) -> None:
    """Raise `FleetError` (LF884) when there is no stage of this name."""
    from llm_fleet.catalog.job_settings import job_stages
    from llm_fleet.cli.failure import refuse
    from llm_fleet.rules.nearest import did_you_mean

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
