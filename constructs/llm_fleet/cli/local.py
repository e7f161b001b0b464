"""`llm-fleet local`: deploys a fleet to the AWS emulator on this machine, and runs its services with stand-ins."""

import argparse
import os
import re
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from llm_fleet.cli.local_drill import add_drill
from llm_fleet.cli.place import add_file, file_of
from llm_fleet.cli.verb import Verbs, add_verb, refuse
from llm_fleet.rules.feature_codes import CommandCode

_LAST_PORT = 65535
_HERE = ("localhost", "127.0.0.1")


def add_to(verbs: Verbs) -> None:
    """Add the commands to the command line. Their packages are those of `llm-fleet[local]`, imported when one runs."""
    group = add_verb(
        verbs,
        "local",
        help="deploy a fleet to the AWS emulator on this machine; needs no AWS account",
        examples=("local deploy", "local stop"),
    )
    commands = group.add_subparsers(title="commands", metavar="COMMAND", required=True)

    verb = add_verb(
        commands,
        "up",
        help="start the AWS emulator, and print the variables with which the AWS CLI uses it",
        examples=("local up", "local up -f ../other-project/fleet.yaml"),
    )
    add_file(verb, argument=True)
    verb.set_defaults(run=_up)

    verb = add_verb(
        commands,
        "deploy",
        help="deploy a fleet file to the AWS emulator with the real CDK CLI, and list the resources",
        examples=("local deploy", "local deploy -f examples/hyperpod-trn1.yaml --verbose"),
    )
    add_file(verb, argument=True)
    verb.add_argument("--verbose", action="store_true", help="show the output of the CDK CLI, all nodes and all files")
    verb.set_defaults(run=_deploy)

    verb = add_verb(
        commands,
        "status",
        help="list the stacks in the AWS emulator of this project",
        examples=("local status", "local status -f ../other-project/fleet.yaml --json"),
    )
    add_file(verb, argument=True)
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=_status)

    verb = add_verb(
        commands,
        "destroy",
        help="delete the stacks in the AWS emulator as CloudFormation would: retained resources remain",
        examples=("local destroy", "local destroy -f examples/hyperpod-trn1.yaml --unprotect"),
    )
    add_file(verb, argument=True)
    verb.add_argument("--unprotect", action="store_true", help="turn off termination protection first")
    verb.set_defaults(run=_destroy)

    verb = add_verb(
        commands,
        "stop",
        help="stop the AWS emulator of this project; all that was deployed to it is gone",
        examples=("local stop", "local stop -f ../other-project/fleet.yaml"),
    )
    add_file(verb, argument=True)
    verb.set_defaults(run=_stop)
    _add_serve(commands)
    add_drill(commands, partial(_run, module="llm_fleet_local.drill.run"), _directory)


def _add_serve(commands: Verbs) -> None:
    verb = add_verb(
        commands,
        "serve",
        help="run stand-ins of a service's model servers and load balancer, until Ctrl-C",
        examples=("local serve cdk.out", "local serve cdk.out --service chat --port 8080"),
    )
    verb.add_argument("assembly", type=Path, help="the directory that `cdk synth` wrote (cdk.out), or one template")
    verb.add_argument("--service", help="name, logical id or construct path, if there are several")
    verb.add_argument("--port", type=_port, default=0, help="port; 0 (default): any free one")
    verb.add_argument("--tasks", type=_count, help="number of tasks (default: the number in the template)")
    verb.add_argument(
        "--time-scale",
        type=_scale,
        default=1.0,
        help="seconds on this machine per second of the template's settings",
    )
    verb.add_argument("--token-seconds", type=_number, default=0.05, help="seconds for each token (default: 0.05)")
    verb.add_argument("--until-input-ends", action="store_true", help="also stop when standard input ends")
    verb.set_defaults(run=_serve)


def _directory(given: argparse.Namespace) -> Path:
    """Return the directory of the fleet file, or the current one. Raises `FleetError` (LF101) for an unknown file."""
    if given.file is None:
        return Path()
    from llm_fleet.fleet_file.document import read_text

    read_text(Path(given.file))
    return Path(given.file).parent


def _up(given: argparse.Namespace) -> int:
    return _run("up", _directory(given))


def _deploy(given: argparse.Namespace) -> int:
    return _run("deploy", file_of(given), verbose=given.verbose)


def _status(given: argparse.Namespace) -> int:
    return _run("status", _directory(given), as_json=given.json)


def _destroy(given: argparse.Namespace) -> int:
    return _run("destroy", file_of(given), unprotect=given.unprotect)


def _stop(given: argparse.Namespace) -> int:
    return _run("stop", _directory(given))


def _serve(given: argparse.Namespace) -> int:
    return _run("serve", given)


def _number(text: str) -> float:
    if not re.fullmatch(r"[0-9]+([.][0-9]+)?", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number; write 0 or more, e.g. 0.5")
    return float(text)


def _scale(text: str) -> float:
    if _number(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a scale; write a number above 0")
    return float(text)


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number; write 0 or more")
    return int(text)


def _port(text: str) -> int:
    if _count(text) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is not a port; write 0 to {_LAST_PORT}")
    return int(text)


def _run(name: str, *arguments: Any, module: str = "llm_fleet_local.command.run", **options: Any) -> int:
    """Run the function `name` of `module`. Raises `FleetError` (LF1014, LF1015)."""
    for variable in ("NO_PROXY", "no_proxy"):  # A proxy cannot reach the emulator, which is on this machine.
        kept = [host for host in os.environ.get(variable, "").split(",") if host and host not in _HERE]
        os.environ[variable] = ",".join((*kept, *_HERE))
    try:
        commands = import_module(module)
    except ModuleNotFoundError as error:
        refuse(
            CommandCode.NO_LOCAL,
            f"the package `{error.name}` is not installed, which `llm-fleet local` requires",
            'run `pip install "llm-fleet[local]"`',
        )
    try:
        return getattr(commands, name)(*arguments, **options)
    except commands.LocalError as error:
        refuse(CommandCode.LOCAL_FAILED, error.message, error.remedy)
