"""A file system on the network, as this node shall mount it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remote:
    """One mount."""

    kind: str
    """As mount(8) calls it: `lustre` or `nfs4`."""
    server: str
    """DNS name of the file system."""
    port: int
    """TCP port of its server."""
    device: str
    """What is mounted, e.g. `fs-0123.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh`."""
    path: str
    options: str

    @property
    def block(self) -> str:
        """Name of its marked block in `/etc/fstab`."""
        return f"mount {self.path}"

    @property
    def fstab(self) -> str:
        """Its line in `/etc/fstab`."""
        return f"{self.device} {self.path} {self.kind} {self.options} 0 0"

    @property
    def client(self) -> str:
        """The program that mount(8) hands it to."""
        return f"mount.{self.kind}"

    @property
    def share(self) -> str:
        """What follows the server in `device`, e.g. `/abcdefgh`."""
        return "/" + self.device.rsplit(":/", 1)[1]
