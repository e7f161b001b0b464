"""Starts processes as forks of one that has already imported and read what they need, so each starts quickly.

Servers and Lambda functions are started like this: a run of the tests starts dozens of servers and hundreds of
functions.
"""

import atexit
import contextlib
import gc
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[2]


class ForkServer:
    """A client of the process that forks. That process ends when all clients have ended."""

    def __init__(self, module: str, *arguments: str, environment: Mapping[str, str]) -> None:
        """Start it: a program that calls `fork_for_each_request`."""
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments], cwd=_ROOT, env=environment, stdin=theirs.fileno()
            )
        atexit.register(self._end)

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]) -> int:
        """Do the work with `arguments` in a fork that has this `environment`; return its process id.

        `files`: its standard input, its standard output and error, and files that it only keeps open until it ends.
        Any thread, and forks of this process, can call this. Raises `RuntimeError` if there is no response.
        """
        request = os.memfd_create("request")
        answered, answer = os.pipe()
        os.write(request, json.dumps({"arguments": list(arguments), "environment": dict(environment)}).encode())
        try:
            # A message of one byte with its files is never mixed with another one.
            socket.send_fds(self._ours, [b"?"], [request, answer, *files])
        except OSError:
            pass
        finally:
            os.close(request)
            os.close(answer)
        with open(answered, "rb") as response:
            process = response.read()
        if not process:
            raise RuntimeError(f"the process that forks has ended with {self._process.wait()}")
        return int(process)

    def _end(self) -> None:
        self._ours.close()
        self._process.wait()


def fork_for_each_request(prepare: Callable[[], None], work: Callable[[list[str]], int]) -> int:
    """Fork for each request on standard input, until that ends; returns the exit status, in forks that of `work`.

    `prepare` is called before the first fork.
    """
    requested = socket.socket(fileno=os.dup(0))
    if not requested.recv(1, socket.MSG_PEEK):
        return 0
    prepare()
    gc.collect()
    gc.freeze()  # otherwise the first garbage collection copies every page
    while True:
        one, files, _, _ = socket.recv_fds(requested, 1, 8)
        _reap()
        if not one:
            return 0
        request, answer, *own = files
        process = os.fork()
        if not process:
            requested.close()
            os.close(answer)
            return work(_set_up(request, own))
        os.write(answer, str(process).encode())
        for file in files:
            os.close(file)


def _set_up(request: int, files: Sequence[int]) -> list[str]:
    """Set environment and files from a request; return its arguments."""
    with open(request, "rb") as message:
        message.seek(0)
        wanted = json.load(message)
    standard_input, output, *_ = files
    for file, place in ((standard_input, 0), (output, 1), (output, 2)):
        os.dup2(file, place)
    os.close(standard_input)
    os.close(output)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    return wanted["arguments"]


def _reap() -> None:
    """Reap the forks that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
