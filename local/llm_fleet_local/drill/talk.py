"""The protocol between the command and the process that keeps a cluster: requests and lines over a Unix socket."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from typing import Any

Say = Callable[[str], None]
Answer = Callable[[Sequence[str], Say], int]
"""Handles a request, its words, with a function that sends a line to the client; returns the exit code."""


class NoOneThere(Exception):
    """No process that keeps a cluster is running."""


def ask(place: Path, words: Sequence[str], say: Say) -> int:
    """Send `words` to the server at `place`, pass each line of the answer to `say`, and return the exit code.

    Raises `NoOneThere`.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(place))
        except OSError as error:
            raise NoOneThere(str(place)) from error
        connection.sendall(json.dumps(list(words)).encode() + b"\n")
        for line in connection.makefile(encoding="utf-8"):
            entry: dict[str, Any] = json.loads(line)
            if "exit" in entry:
                return int(entry["exit"])
            say(str(entry["line"]))
    raise NoOneThere("the process that keeps the cluster ended before it answered")


def listen(place: Path, answer: Answer) -> ThreadingUnixStreamServer:
    """Return a server at `place` that answers with `answer`; the caller runs its `serve_forever`."""

    class Handler(StreamRequestHandler):
        """One request."""

        def handle(self) -> None:
            """Answer it."""
            words: list[str] = json.loads(self.rfile.readline())

            def send(**entry: object) -> None:
                self.wfile.write(json.dumps(entry).encode() + b"\n")
                self.wfile.flush()

            try:
                code = answer(words, lambda line: send(line=line))
            except Exception as error:
                send(line=f"{type(error).__name__}: {error}")
                code = 1
            send(exit=code)

    place.unlink(missing_ok=True)
    server = ThreadingUnixStreamServer(str(place), Handler)
    server.daemon_threads = True
    return server
