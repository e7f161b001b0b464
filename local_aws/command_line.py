"""What `python -m local_aws` understands."""

import argparse
import json
import logging
import os
import signal
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Any

from local_aws.server import DEFAULT_ACCOUNT, DEFAULT_REGION


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    return options.run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local_aws", description="An embedded AWS on this machine.")
    commands = parser.add_subparsers(required=True)
    serve = commands.add_parser("serve", help="run the server until it is told to stop")
    serve.add_argument("--port", type=int, default=0, help="0 (default): any free one")
    serve.add_argument("--account", default=DEFAULT_ACCOUNT)
    serve.add_argument("--region", default=DEFAULT_REGION)
    serve.add_argument("--ready-file", type=Path, help="written as JSON (endpoint, pid) when the server answers")
    serve.add_argument("--until-input-ends", action="store_true", help="stop too when standard input ends")
    serve.set_defaults(run=_serve)
    for name, text in (("deploy", "deploy a cloud assembly without the CDK CLI"), ("destroy", "delete its stacks")):
        command = commands.add_parser(name, help=text)
        command.add_argument("assembly", type=Path, help="the directory that `cdk synth` wrote (cdk.out)")
        _add_endpoint(command)
        command.set_defaults(run=_deploy if name == "deploy" else _destroy)
        if name == "destroy":
            command.add_argument("--unprotect", action="store_true", help="take termination protection off first")
    status = commands.add_parser("status", help="show the stacks and how real their resources are")
    _add_endpoint(status)
    status.set_defaults(run=_status)
    return parser


def _add_endpoint(command: argparse.ArgumentParser) -> None:
    command.add_argument("--endpoint", default=os.environ.get("AWS_ENDPOINT_URL"), help="default: AWS_ENDPOINT_URL")
    command.add_argument("--account", default=os.environ.get("CDK_DEFAULT_ACCOUNT", DEFAULT_ACCOUNT))
    command.add_argument("--region", default=os.environ.get("AWS_REGION", DEFAULT_REGION))


def _serve(options: argparse.Namespace) -> int:
    from local_aws.server import LocalServer

    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: stop.set())
    server = LocalServer(port=options.port, account=options.account, region=options.region)
    server.start()
    print("# an emulation of AWS on this machine; nothing below reaches AWS")
    for name, value in server.environment.items():
        print(f"export {name}={value}")
    sys.stdout.flush()
    if options.ready_file:
        _write_ready_file(options.ready_file, {"endpoint": server.endpoint, "pid": os.getpid(), **_who(options)})
    if options.until_input_ends:
        Thread(target=_await_end_of_input, args=(stop,), daemon=True).start()
    stop.wait()
    server.stop()
    if options.ready_file:
        options.ready_file.unlink(missing_ok=True)
    return 0


def _await_end_of_input(stop: Event) -> None:
    """Whoever started the server holds the other end: it ends however they do."""
    while sys.stdin.read(1):
        pass
    stop.set()


def _who(options: argparse.Namespace) -> dict[str, str]:
    return {"account": options.account, "region": options.region}


def _write_ready_file(path: Path, content: dict[str, Any]) -> None:
    """Write and rename, so that nobody reads half of it."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(content), encoding="utf-8")
    partial.replace(path)


def _client(options: argparse.Namespace) -> Any:
    from local_aws.client import LocalAws

    if not options.endpoint:
        raise SystemExit("no server: give --endpoint or set AWS_ENDPOINT_URL (python -m local_aws serve)")
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
