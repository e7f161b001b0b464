"""One container: `python -m llm_fleet_local.serving.servers <kind> <the container's entry point and command>`."""

import asyncio
import sys
from collections.abc import Callable
from functools import partial

from llm_fleet_local.serving.servers.account_context import account_context, container_environment
from llm_fleet_local.serving.servers.command_words import SettingRefused
from llm_fleet_local.serving.servers.http_server import serve
from llm_fleet_local.serving.servers.tgi_server import TgiServer
from llm_fleet_local.serving.servers.tgi_settings import tgi_settings
from llm_fleet_local.serving.servers.vllm_server import VllmServer
from llm_fleet_local.serving.servers.vllm_settings import vllm_settings

_REFUSED = 2


def _tgi(command: list[str]) -> None:
    around, settings = account_context(), tgi_settings(command, container_environment())
    server = TgiServer(settings, token_seconds=around.token_seconds)
    if settings.logs_arguments:
        print(settings)
    graceful = settings.graceful_termination_timeout
    asyncio.run(serve(server, port=settings.port, graceful_seconds=graceful, account_context=around))


def _vllm(kind: str, command: list[str]) -> None:
    around, settings = account_context(), vllm_settings(kind, command, container_environment())
    server = VllmServer(settings, token_seconds=around.token_seconds)
    asyncio.run(serve(server, port=settings.port, graceful_seconds=1, account_context=around, on_stop=server.end))


_KINDS: dict[str, Callable[[list[str]], None]] = {
    "tgi": _tgi,
    "hugging-face-vllm": partial(_vllm, "hugging-face-vllm"),
    "aws-vllm": partial(_vllm, "aws-vllm"),
    "aws-vllm-neuron": partial(_vllm, "aws-vllm-neuron"),
}

if __name__ == "__main__":
    kind, *words = sys.argv[1:]
    try:
        _KINDS[kind](words)
    except SettingRefused as refusal:
        print(refusal, file=sys.stderr)
        sys.exit(_REFUSED)
