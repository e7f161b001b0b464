"""The command line of `python -m local.serving`."""

import argparse
import json
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from local.serving import option_types
from local.serving.assembly import template_of
from local.serving.local_issuer import LocalIssuer, claims_for, token_settings
from local.serving.local_service import LocalService
from local.serving.model_name import model_name
from local.serving.template.problem import NotServable
from local.serving.template.read_front import read_front
from local.serving.template.read_service import choose_service, read_services
from local.serving.template.reader import TemplateReader

_DAY = 86400


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        return _serve(options)
    except NotServable as problem:
        print(f"cannot run this service locally: {problem}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m local.serving", description="Runs an inference service on this machine."
    )
    serve = parser.add_subparsers(required=True).add_parser(
        "serve", help="run stand-ins of a template's model servers and load balancer, until Ctrl-C"
    )
    serve.add_argument("assembly", type=Path, help="the directory that `cdk synth` wrote (cdk.out), or one template")
    serve.add_argument("--service", help="name, logical id or construct path, if there are several")
    serve.add_argument("--port", type=option_types.port, default=0, help="port; 0 (default): any free one")
    serve.add_argument("--tasks", type=option_types.count, help="number of tasks; default: the number in the template")
    serve.add_argument(
        "--time-scale",
        type=option_types.scale,
        default=1.0,
        help="seconds on this machine per second of the template's settings",
    )
    serve.add_argument(
        "--token-seconds", type=option_types.seconds, default=0.05, help="seconds per token (default 0.05)"
    )
    serve.add_argument("--until-input-ends", action="store_true", help="also stop when standard input ends")
    return parser


def _serve(options: argparse.Namespace) -> int:
    template = template_of(options.assembly, options.service)
    issuer = LocalIssuer()
    settings = _token_settings(template, options.service)
    local = LocalService(
        template,
        service=options.service,
        tasks=options.tasks,
        time_scale=options.time_scale,
        token_seconds=options.token_seconds,
        port=options.port,
        keys={item["JwksEndpoint"]: issuer.keys for item in settings},
    )
    with _stopped_by_signals() as stop, local:
        if options.until_input_ends:
            Thread(target=_await_end_of_input, args=(stop,), daemon=True).start()
        token = issuer.token(claims_for(settings[0]), seconds=_DAY) if settings else local.api_key
        print("\n".join(_words(local, token, of_issuer=bool(settings))), flush=True)
        stop.wait()
    return 0


@contextmanager
def _stopped_by_signals() -> Generator[Event]:
    """Return an event that SIGTERM and Ctrl-C set, instead of their default actions."""
    stop = Event()

    def on_signal(*_: object) -> None:
        stop.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _token_settings(template: str, service: str | None) -> list[dict[str, str]]:
    reader = TemplateReader(template)
    chosen = choose_service(read_services(reader), service)
    return [dict(item) for item in token_settings(read_front(reader, chosen.target_group))]


def _words(local: LocalService, token: str | None, *, of_issuer: bool) -> list[str]:
    service = local.service
    name = model_name(service, local.front)
    body = json.dumps({"model": name, "messages": [{"role": "user", "content": "count to 20"}], "stream": True})
    header = f"-H 'Authorization: Bearer {token}' " if token else ""
    tasks = f"{len(local.tasks)} task{'' if len(local.tasks) == 1 else 's'}"
    others = ", ".join(service.others)
    left_out = f" (these containers of the task do not run here: {others})" if others else ""
    return [
        "# stand-ins on this machine: no model, no accelerator, no access to AWS",
        f"service   {service.name}, {tasks} of {service.container.image}{left_out}",
        f"base URL  {local.url}/v1",
        f"{'token     ' if of_issuer else 'API key   '}{token or 'none is required'}",
        f"model     {name}",
        "",
        f"curl -N {local.url}/v1/chat/completions {header}-H 'Content-Type: application/json' -d '{body}'",
        "",
        "Ctrl-C ends it.",
    ]


def _await_end_of_input(stop: Event) -> None:
    """The parent process holds the other end: this process ends with it."""
    while sys.stdin.read(1):
        pass
    stop.set()
