"""The chosen folders, as in `/etc/llm-fleet/disks.json`."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Layout:
    """Folders for large data, all on one file system. They exist after the step `disks`."""

    place: str
    """Parent folder, e.g. `/opt/dlami/nvme`; `/var/lib` if the node has only its root volume."""
    kind: str
    """`nvme`, `ebs` or `root`. Only the data on `nvme` is lost when the node is stopped."""
    docker: str
    """Docker's data root."""
    containerd: str
    """containerd's root."""
    enroot_data: str
    """Has a folder for each user."""
    enroot_cache: str
    """Has a folder for each user."""
    s3_cache: str
    """Has a folder for each bucket that Mountpoint for Amazon S3 mounts."""
    scratch: str
    """For jobs; all users can write, as in `/tmp`."""

    @classmethod
    def on(cls, place: str, kind: str) -> Layout:
        """Return the layout below `place`."""
        return cls(
            place=place,
            kind=kind,
            docker=f"{place}/docker",
            containerd=f"{place}/containerd",
            enroot_data=f"{place}/enroot/data",
            enroot_cache=f"{place}/enroot/cache",
            s3_cache=f"{place}/s3-cache",
            scratch=f"{place}/scratch",
        )

    def folders(self) -> dict[str, int]:
        """Return the folders with their modes."""
        private, shared = 0o700, 0o1777
        return {
            self.docker: 0o710,  # Docker sets this mode itself
            self.containerd: private,
            self.enroot_data: shared,
            self.enroot_cache: shared,
            self.s3_cache: private,
            self.scratch: shared,
        }

    def as_document(self) -> dict[str, str]:
        """Return it as a JSON object."""
        return asdict(self)
