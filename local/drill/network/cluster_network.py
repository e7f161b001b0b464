"""The network of one cluster on plain Linux: a network namespace with a bridge to which all its nodes are connected."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from local.drill.nodes.control_groups import ControlGroups
from local.drill.nodes.node import NodeError
from local.drill.nodes.processes import Started

JOIN = Path(__file__).parents[1] / "nodes" / "join.sh"
METADATA_ADDRESS = "169.254.169.254"
"""Address of the EC2 instance metadata service; the bridge has it, so that a stand-in can bind to it."""


class ClusterNetwork:
    """A network that is isolated from the machine's network; two clusters may use the same addresses."""

    def __init__(self, folder: Path, cluster: str, subnet: str = "10.66.0.0/16") -> None:
        """Take the cluster's folder, name and addresses; nothing is made yet."""
        self._network = IPv4Network(subnet)
        self.namespace = folder / "network"
        """A file that holds the network namespace."""
        self._groups = ControlGroups(f"{cluster}/services")
        self._cables = 0

    @property
    def subnet(self) -> str:
        """Addresses, e.g. `10.66.0.0/16`."""
        return str(self._network)

    @property
    def prefix(self) -> int:
        """Length of the subnet's prefix."""
        return self._network.prefixlen

    @property
    def services_address(self) -> str:
        """The bridge's own address: the nodes' default route, and where programs started by `start` are found."""
        return str(self._network[1])

    def make(self) -> None:
        """Make the namespace and the bridge in it."""
        self.namespace.touch()
        self._groups.make()
        _run("unshare", f"--net={self.namespace}", "true")
        self.configure(
            "link set lo up",
            "link add bridge type bridge mcast_snooping 0",
            f"address add {IPv4Interface((self.services_address, self.prefix))} dev bridge",
            f"address add {METADATA_ADDRESS}/32 dev bridge",
            "link set bridge up",
        )

    def next_cable(self) -> str:
        """Return a name for one more node's end of the network."""
        self._cables += 1
        return f"node{self._cables}"

    def cut(self, cable: str) -> None:
        """Disconnect a node: from now on no packets from or to it arrive."""
        self.configure(f"link delete {cable}", force=True)

    def configure(self, *commands: str, force: bool = False) -> None:
        """Run commands of `ip` inside; with `force`, go on after those that fail."""
        options = ["-force"] if force else []
        _run(
            "nsenter",
            f"--net={self.namespace}",
            "ip",
            *options,
            "-batch",
            "-",
            input="\n".join(commands),
            check=not force,
        )

    def start(self, *command: str, env: Mapping[str, str] | None = None, log: Path, cwd: Path | None = None) -> Started:
        """Start a program of the machine inside the network; it is ended with the cluster at the latest."""
        joined = ["bash", str(JOIN), *map(str, self._groups.places), "--"]
        return Started([*joined, "nsenter", f"--net={self.namespace}", *command], log=log, env=env, cwd=cwd)

    def close(self) -> None:
        """End what was started inside. The namespace goes with the mounts of the cluster's folder."""
        self._groups.kill()


def _run(*command: str, input: str | None = None, check: bool = True) -> None:
    done = subprocess.run(command, input=input, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise NodeError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()}")
