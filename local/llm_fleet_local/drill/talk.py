"""The protocol between the command and the process that keeps a cluster: requests and lines over a Unix socket."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from typing import Any

from llm_fleet_local.command.project import LocalError
from llm_fleet_local.drill.socket_name import short_name

Say = Callable[[str], None]
Answer = Callable[[Sequence[str], Say], int]
"""Handles a request, its words, with a function that sends a line to the client; returns the exit code."""


def ask(place: Path, words: Sequence[str], say: Say) -> int:
    """Send `words` to the server at `place`, pass each line of the answer to `say`, and return the exit code.

    Raises `LocalError`: that of the server, or if there is no server.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        _connect(connection, place)
        connection.sendall(json.dumps(list(words)).encode() + b"\n")
        for line in connection.makefile(encoding="utf-8"):
            entry: dict[str, Any] = json.loads(line)
            if "error" in entry:
                raise LocalError(*entry["error"])
            if "exit" in entry:
                return int(entry["exit"])
            say(str(entry["line"]))
    raise LocalError(
        "the process that keeps the cluster ended before it answered",
        f"read {place.with_name('keeper.log')}, and remove what it left with `llm-fleet local drill sweep`",
    )


def _connect(connection: socket.socket, place: Path) -> None:
    try:
        with short_name(place) as name:
            connection.connect(name)
    except PermissionError as error:
        raise LocalError("another user has started the cluster of the drill", "run the command as root") from error
    except OSError as error:
        raise LocalError("no cluster of the drill is up", "start one with `llm-fleet local drill up`") from error


def is_listening(place: Path) -> bool:
    """Return whether a process answers at `place`."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            _connect(connection, place)
        except LocalError:
            return False
        return True


def listen(place: Path, answer: Answer) -> ThreadingUnixStreamServer:
    """Return a server at `place` that answers with `answer`; the caller runs its `serve_forever`."""

    class Handler(StreamRequestHandler):
        """One request."""

        def handle(self) -> None:
            """Answer it."""
            request = self.rfile.readline()
            if not request:
                return

            def send(**entry: object) -> None:
                self.wfile.write(json.dumps(entry).encode() + b"\n")
                self.wfile.flush()

            try:
                send(exit=answer(json.loads(request), lambda line: send(line=line)))
            except LocalError as error:
                send(error=[error.message, error.remedy])
            except Exception as error:
                send(error=[f"{type(error).__name__}: {error}", "read the logs of the nodes with `shell`"])

    place.unlink(missing_ok=True)
    with short_name(place) as name:
        server = ThreadingUnixStreamServer(name, Handler)
    server.daemon_threads = False  # Answers are complete before the process ends.
    return server
