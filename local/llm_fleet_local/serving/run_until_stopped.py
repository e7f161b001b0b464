"""Runs a service as `llm-fleet local serve` says, and prints how to reach it."""

import argparse
import json
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Thread

from llm_fleet_local.serving.assembly import template_of
from llm_fleet_local.serving.local_issuer import LocalIssuer, claims_for, token_settings
from llm_fleet_local.serving.local_service import LocalService
from llm_fleet_local.serving.model_name import model_name
from llm_fleet_local.serving.template.problem import NotServable
from llm_fleet_local.serving.template.read_front import read_front
from llm_fleet_local.serving.template.read_service import choose_service, read_services
from llm_fleet_local.serving.template.reader import TemplateReader

_DAY = 86400


def serve(options: argparse.Namespace) -> int:
    """Run the service until a signal, with the options of `llm-fleet local serve`; return the exit status."""
    try:
        return _serve(options)
    except NotServable as problem:
        print(f"cannot run this service locally: {problem}", file=sys.stderr)
        return 1


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
