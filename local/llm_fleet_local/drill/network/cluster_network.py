"""The network of one cluster on plain Linux: a network namespace with a bridge to which all its nodes are connected."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path

from llm_fleet_local.drill.nodes.control_groups import ControlGroups
from llm_fleet_local.drill.nodes.node import NodeError
from llm_fleet_local.drill.nodes.processes import Started

JOIN = Path(__file__).parents[1] / "nodes" / "join.sh"
METADATA_ADDRESS = "169.254.169.254"
"""Address of the EC2 instance metadata service, added to the bridge so that a stand-in can bind to it."""


class ClusterNetwork:
    """A network that is isolated from the machine's network; two clusters may use the same addresses."""

    def __init__(self, folder: Path, cluster: str, subnet: str = "10.66.0.0/16") -> None:
        """Set the cluster's folder, name and addresses; nothing is created yet."""
        self._network = IPv4Network(subnet)
        self.namespace = folder / "network"
        """The file on which the network namespace is mounted."""
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
        """The bridge's address: the nodes' default route, and the address of programs that `start` starts."""
        return str(self._network[1])

    def make(self) -> None:
        """Create the namespace and the bridge in it."""
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
        """Return the name of a new veth interface for one more node."""
        self._cables += 1
        return f"node{self._cables}"

    def cut(self, cable: str) -> None:
        """Disconnect a node: from now on, no packets from it or to it arrive."""
        self.configure(f"link delete {cable}", force=True)

    def configure(self, *commands: str, force: bool = False) -> None:
        """Run commands of `ip` in the namespace; with `force`, continue after commands that fail."""
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
        """Start a program of the machine in the network; it ends with the cluster at the latest."""
        joined = ["bash", str(JOIN), *map(str, self._groups.places), "--"]
        return Started([*joined, "nsenter", f"--net={self.namespace}", *command], log=log, env=env, cwd=cwd)

    def close(self) -> None:
        """End the started programs. The namespace is removed with the mounts of the cluster's folder."""
        self._groups.kill()


def _run(*command: str, input: str | None = None, check: bool = True) -> None:
    done = subprocess.run(command, input=input, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise NodeError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()}")
