"""A network file system and its mount options on this node."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remote:
    """One mount."""

    kind: str
    """Type for mount(8): `lustre` or `nfs4`."""
    server: str
    """DNS name of the file system."""
    port: int
    """TCP port of its server."""
    device: str
    """Device, e.g. `fs-0123.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh`."""
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
        """The helper program of mount(8)."""
        return f"mount.{self.kind}"

    @property
    def share(self) -> str:
        """The part of `device` after the server, e.g. `/abcdefgh`."""
        return "/" + self.device.rsplit(":/", 1)[1]
