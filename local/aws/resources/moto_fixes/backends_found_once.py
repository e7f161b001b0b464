"""Which of moto's backends serves a host is found once a process.

moto lists its own folder from the disk, and tries a few hundred patterns, twice for every request.

Source: emulation, speed alone
"""

from functools import cache
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication

_find = DomainDispatcherApplication.get_backend_for_host


def install() -> None:
    """Let dispatchers remember what they have found."""
    DomainDispatcherApplication.get_backend_for_host = _get_backend_for_host


def _get_backend_for_host(self: DomainDispatcherApplication, host: str | None) -> Any:
    return _found(self, host)


@cache
def _found(dispatcher: DomainDispatcherApplication, host: str | None) -> Any:
    return _find(dispatcher, host)
