"""The planner's answer, as `/etc/llm-fleet/disks.json` holds it."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Layout:
    """Folders for what is large, all on one file system. Each is there once the step `disks` is done."""

    place: str
    """Where they all are, e.g. `/opt/dlami/nvme`; `/var/lib` when the node has nothing but its root."""
    kind: str
    """What that is: `nvme`, `ebs` or `root`. Only `nvme` is lost when the node is stopped."""
    docker: str
    """Docker's data root."""
    containerd: str
    """containerd's root."""
    enroot_data: str
    """Holds a folder for each user."""
    enroot_cache: str
    """Holds a folder for each user."""
    s3_cache: str
    """Holds a folder for each bucket that Mountpoint for S3 shows."""
    scratch: str
    """For jobs; everybody may write, as into `/tmp`."""

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
            self.docker: 0o710,  # Docker sets this mode by itself
            self.containerd: private,
            self.enroot_data: shared,
            self.enroot_cache: shared,
            self.s3_cache: private,
            self.scratch: shared,
        }

    def as_document(self) -> dict[str, str]:
        """Return it as JSON holds it."""
        return asdict(self)
