"""The servers outside the nodes: the AWS emulator, and the ports of file servers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlparse

from llm_fleet_local.drill.nodes.backend import Backend

_PORT = 5000
_ROOT = Path(__file__).parents[2]


class Services:
    """The servers outside a cluster's nodes, for the lifetime of the cluster's back end."""

    def __init__(self, backend: Backend, aws_endpoint: str) -> None:
        """Set the address of the AWS emulator on this machine."""
        self._backend = backend
        self._aws = urlparse(aws_endpoint)
        self._outside: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Address of all servers in the cluster's network."""
        return self._backend.network.services_address

    @property
    def endpoint(self) -> str:
        """URL of the AWS emulator for nodes."""
        return f"http://{self.address}:{_PORT}"

    def start(self) -> None:
        """Start the servers. Those in the network end with it, the others with `stop`."""
        logs = self._backend.folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        socket = str(self._backend.folder / "aws.sock")
        relay = [sys.executable, "-m", "llm_fleet_local.drill.relay"]
        with (logs / "relay-outside.log").open("ab") as log:
            self._outside = subprocess.Popen(
                # This process ends with the drill, also if the drill is killed.
                ["setpriv", "--pdeathsig", "KILL", *relay, socket, f"127.0.0.1:{self._aws.port}"],
                cwd=_ROOT,
                stdout=log,
                stderr=log,
            )
        self._backend.network.start(*relay, f"{self.address}:{_PORT}", socket, log=logs / "relay-inside.log", cwd=_ROOT)

    def stop(self) -> None:
        """Stop the servers outside the network."""
        if self._outside is not None:
            self._outside.kill()
            self._outside.wait()
            self._outside = None
