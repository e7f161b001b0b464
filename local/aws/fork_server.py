"""Starts servers as forks of one process that has read what all of them read: the rest take a moment each.

A program that starts one server gains nothing; a run of tests starts dozens.
"""

import atexit
import contextlib
import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_MOST_ASK = {
    **{
        name: name
        for name in ("ec2", "iam", "s3", "kms", "logs", "sagemaker", "fsx", "sts", "ssm", "sns", "cloudwatch")
    },
    "lambda": "awslambda",
}
"""The services that a fleet with a cluster is deployed with, and moto's packages of them."""


class ForkServer:
    """The process that forks, as whoever wants servers sees it. It ends with them."""

    def __init__(self, *, account: str, environment: Mapping[str, str]) -> None:
        """Start it; moto reads the account when it is imported, so another account needs another one."""
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "local.aws.fork_server", account],
                cwd=_ROOT,
                env=environment,
                stdin=theirs.fileno(),
            )
        atexit.register(self._end)

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]) -> int:
        """Serve with `arguments`, options of `serve`, in a fork; returns its process id.

        `files`: its standard input, its standard output and error, and what it shall only hold open until it ends.
        Raises `RuntimeError` when there is no answer.
        """
        request = json.dumps({"arguments": list(arguments), "environment": dict(environment)}).encode()
        try:
            socket.send_fds(self._ours, [len(request).to_bytes(8, "big")], list(files))
            self._ours.sendall(request)
            answer = self._ours.recv(8)
        except OSError:
            answer = b""
        if not answer:
            raise RuntimeError(f"the process that starts local emulations has ended with {self._process.wait()}")
        return int.from_bytes(answer, "big")

    def _end(self) -> None:
        self._ours.close()
        self._process.wait()


def main() -> None:
    """Fork a server for each request on standard input, until that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for whoever started this: it ends with them
    _read_what_all_read(sys.argv[1])
    asked = socket.socket(fileno=0)
    while True:
        size, files, _, _ = socket.recv_fds(asked, 8, 3)
        _bury()
        if not size:
            return
        request = json.loads(asked.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
        process = os.fork()
        if not process:
            os._exit(_serve(request["arguments"], request["environment"], files, asked))
        for file in files:
            os.close(file)
        asked.sendall(process.to_bytes(8, "big"))


def _read_what_all_read(account: str) -> None:
    """Import what the server imports, and read tables and models; nothing that differs between servers."""
    from local.aws.resources.services import Services
    from local.aws.server import prepare

    prepare(account)
    services = Services("http://localhost")
    for service, backend in _MOST_ASK.items():
        services.client(service, "us-west-2")
        import_module(f"moto.{backend}.urls")
    gc.collect()
    gc.freeze()  # else the first search for garbage copies every page


def _bury() -> None:
    """Take leave of the servers that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _serve(arguments: list[str], environment: dict[str, str], files: list[int], asked: socket.socket) -> int:
    """Be a server process as if begun by itself; return its exit status."""
    from moto.moto_api._internal import mock_random

    from local.aws.serve import main as serve

    mock_random.seed()  # else all servers give the same ids
    asked.detach()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    given, said, _ = files
    for file, place in ((given, 0), (said, 1), (said, 2)):
        os.dup2(file, place)
    os.close(given)
    os.close(said)
    os.environ.clear()
    os.environ.update(environment)
    try:
        return serve(arguments)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    main()
