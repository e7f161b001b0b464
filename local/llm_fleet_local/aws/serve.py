"""The command `serve`: runs the server until it is stopped.

As a program (`python -m llm_fleet_local.aws.serve ACCOUNT`) it starts servers of one account as forks, for
`process.py`.
"""

import argparse
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

from llm_fleet_local.aws.fork_server import fork_for_each_request
from llm_fleet_local.aws.functions.run_handler import handler_forks
from llm_fleet_local.aws.server import DEFAULT_ACCOUNT, DEFAULT_REGION

_REQUESTED = (
    *("ec2", "iam", "s3", "kms", "logs", "sagemaker", "fsx", "sts", "ssm", "sns", "cloudwatch", "lambda", "rds"),
    *("secretsmanager", "dynamodb", "ecs", "elbv2", "autoscaling", "application-autoscaling", "wafv2", "events"),
    *("stepfunctions", "scheduler", "budgets", "sqs", "ecr", "acm"),
)
"""The services that fleets use: their models are read before the first fork."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serve`."""
    parser.add_argument("--port", type=int, default=0, help="0 (default): any free port")
    parser.add_argument("--account", default=DEFAULT_ACCOUNT)
    parser.add_argument("--region", default=DEFAULT_REGION)
    parser.add_argument("--ready-file", type=Path, help="written as JSON (endpoint, pid) when the server answers")
    parser.add_argument("--until-input-ends", action="store_true", help="also stop when standard input ends")


def main(arguments: Sequence[str]) -> int:
    """Serve with the options in `arguments`, without the word `serve`; return the exit status."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    return run(parser.parse_args(arguments))


def run(options: argparse.Namespace) -> int:
    """Serve until a signal, or the end of standard input, ends it; return the exit status."""
    from llm_fleet_local.aws.server import LocalServer

    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: stop.set())
    server = LocalServer(port=options.port, account=options.account, region=options.region)
    server.start()
    print("# an AWS emulator on this machine; nothing below reaches AWS")
    for name, value in server.environment.items():
        print(f"export {name}={value}")
    sys.stdout.flush()
    if options.ready_file:
        _write_ready_file(options.ready_file, {"endpoint": server.endpoint, "pid": os.getpid(), **_who(options)})
    if options.until_input_ends:
        Thread(target=_wait_for_end_of_input, args=(stop,), daemon=True).start()
    stop.wait()
    server.stop()
    if options.ready_file:
        options.ready_file.unlink(missing_ok=True)
    return 0


def _wait_for_end_of_input(stop: Event) -> None:
    """Wait until the parent process ends, which holds the other end of standard input; then end the server."""
    while sys.stdin.read(1):
        pass
    stop.set()


def _who(options: argparse.Namespace) -> dict[str, str]:
    return {"account": options.account, "region": options.region}


def _write_ready_file(path: Path, content: dict[str, Any]) -> None:
    """Write and rename, so that no process reads half of the file."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(content), encoding="utf-8")
    partial.replace(path)


def _import_moto() -> None:
    """Import the modules of a server of the account in the program's arguments, and read tables and models."""
    from llm_fleet_local.aws.resources.services import Services
    from llm_fleet_local.aws.server import prepare

    prepare(sys.argv[1])  # moto reads the account when it is imported
    services = Services("http://localhost")
    for service in _REQUESTED:
        services.client(service, "us-west-2")


def _serve(arguments: list[str]) -> int:
    """Run a server process; return its exit status."""
    from moto.moto_api._internal import mock_random

    mock_random.seed()  # otherwise all servers create the same ids
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return main(arguments)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the parent process
    handler_forks()
    os._exit(fork_for_each_request(_import_moto, _serve))
