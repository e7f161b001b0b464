"""The commands of `python -m llm_fleet_local.aws`."""

import argparse
import logging
import os
from pathlib import Path
from typing import Any

from llm_fleet_local.aws.serve import add_arguments, run
from llm_fleet_local.aws.server import DEFAULT_ACCOUNT, DEFAULT_REGION


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    return options.run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m llm_fleet_local.aws", description="An AWS emulator on this machine."
    )
    commands = parser.add_subparsers(required=True)
    serve = commands.add_parser("serve", help="run the server until it is stopped")
    add_arguments(serve)
    serve.set_defaults(run=run)
    for name, text in (("deploy", "deploy a cloud assembly without the CDK CLI"), ("destroy", "delete its stacks")):
        command = commands.add_parser(name, help=text)
        command.add_argument("assembly", type=Path, help="the directory that `cdk synth` wrote (cdk.out)")
        _add_endpoint(command)
        command.set_defaults(run=_deploy if name == "deploy" else _destroy)
        if name == "destroy":
            command.add_argument("--unprotect", action="store_true", help="turn off termination protection first")
    status = commands.add_parser("status", help="show the stacks and the level of each resource")
    _add_endpoint(status)
    status.set_defaults(run=_status)
    return parser


def _add_endpoint(command: argparse.ArgumentParser) -> None:
    command.add_argument("--endpoint", default=os.environ.get("AWS_ENDPOINT_URL"), help="default: AWS_ENDPOINT_URL")
    command.add_argument("--account", default=os.environ.get("CDK_DEFAULT_ACCOUNT", DEFAULT_ACCOUNT))
    command.add_argument("--region", default=os.environ.get("AWS_REGION", DEFAULT_REGION))


def _client(options: argparse.Namespace) -> Any:
    from llm_fleet_local.aws.client import LocalAws

    if not options.endpoint:
        raise SystemExit("no server: set --endpoint or AWS_ENDPOINT_URL (python -m llm_fleet_local.aws serve)")
    return LocalAws(endpoint=options.endpoint, account=options.account, region=options.region)


def _deploy(options: argparse.Namespace) -> int:
    report = _client(options).deploy(options.assembly)
    print(report)
    return 0 if report.succeeded else 1


def _destroy(options: argparse.Namespace) -> int:
    report = _client(options).destroy(options.assembly, unprotect=options.unprotect)
    print(report)
    return 0 if report.succeeded else 1


def _status(options: argparse.Namespace) -> int:
    for stack in _client(options).stacks():
        print(f"{stack['name']}  {stack['region']}  {stack['status']}")
        for resource in stack["resources"]:
            line = f"  {resource['level']:9} {resource['type']:45} {resource['logical_id']}  {resource['physical_id']}"
            print("\n".join([line, *(f"            {note}" for note in resource["notes"])]))
    return 0
