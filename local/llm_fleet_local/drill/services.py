"""The servers outside the nodes: the AWS emulator, and the ports of file servers."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import urlparse

from llm_fleet_local.drill.nodes.backend import Backend

_PORT = 5000
_SOCKET = "./aws.sock"
"""In the cluster's folder, in which both relays run: the path of a socket may have at most 107 bytes."""


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
        folder = self._backend.folder
        logs = folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        relay = [sys.executable, "-m", "llm_fleet_local.drill.relay"]
        with (logs / "relay-outside.log").open("ab") as log:
            self._outside = subprocess.Popen(
                # This process ends with the drill, also if the drill is killed.
                ["setpriv", "--pdeathsig", "KILL", *relay, _SOCKET, f"127.0.0.1:{self._aws.port}"],
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        inside = (*relay, f"{self.address}:{_PORT}", _SOCKET)
        self._backend.network.start(*inside, log=logs / "relay-inside.log", cwd=folder)

    def stop(self) -> None:
        """Stop the servers outside the network."""
        if self._outside is not None:
            self._outside.kill()
            self._outside.wait()
            self._outside = None
