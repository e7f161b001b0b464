"""What nodes reach besides each other: the AWS emulator, and the ports of file servers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlparse

from local.drill.nodes.backend import Backend

_PORT = 5000
_ROOT = Path(__file__).parents[2]


class Services:
    """The servers outside a cluster's nodes, for the lifetime of the cluster's back end."""

    def __init__(self, backend: Backend, aws_endpoint: str) -> None:
        """Take where the AWS emulator listens on this machine."""
        self._backend = backend
        self._aws = urlparse(aws_endpoint)
        self._outside: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Address of all of them inside the cluster's network."""
        return self._backend.network.services_address

    @property
    def endpoint(self) -> str:
        """The AWS emulator, as nodes reach it."""
        return f"http://{self.address}:{_PORT}"

    def start(self) -> None:
        """Start them. What runs inside the network ends with it, the rest with `stop`."""
        logs = self._backend.folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        socket = str(self._backend.folder / "aws.sock")
        relay = [sys.executable, "-m", "local.drill.relay"]
        with (logs / "relay-outside.log").open("ab") as log:
            self._outside = subprocess.Popen(
                # However the drill ends, this ends with it.
                ["setpriv", "--pdeathsig", "KILL", *relay, socket, f"127.0.0.1:{self._aws.port}"],
                cwd=_ROOT,
                stdout=log,
                stderr=log,
            )
        self._backend.network.start(*relay, f"{self.address}:{_PORT}", socket, log=logs / "relay-inside.log", cwd=_ROOT)

    def stop(self) -> None:
        """Stop what runs outside the network."""
        if self._outside is not None:
            self._outside.kill()
            self._outside.wait()
            self._outside = None
