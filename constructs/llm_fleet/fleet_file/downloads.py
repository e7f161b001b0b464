"""What nodes may fetch when they start."""

from pathlib import Path

from pydantic import Field, PrivateAttr

from llm_fleet.spec.model import FleetModel

_S3 = "s3://"


class DownloadsConfig(FleetModel):
    """What nodes may fetch when they start, and from where. `llm-fleet mirror` writes the lock file, and the mirror."""

    lock: str = Field(examples=["downloads.lock.json"])
    """The lock file, from where this file lies: every file that may be fetched, with its SHA-256."""
    mirror: str | None = None
    """Where the mirror is, `s3://<bucket>/<prefix>`. Default: each file comes from its vendor, over the internet."""

    _directory: Path = PrivateAttr(default=Path())

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that `lock` begins at; for the loader."""
        self._directory = directory

    @property
    def lock_path(self) -> Path:
        """Where the lock file is, as seen from the process."""
        return self._directory / self.lock

    @property
    def mirror_bucket(self) -> str | None:
        """Name of the mirror's bucket; `None` without a mirror."""
        return None if self.mirror is None else self.mirror.removeprefix(_S3).partition("/")[0]

    @property
    def mirror_prefix(self) -> str | None:
        """The part of that bucket which is the mirror; `None` for the whole."""
        rest = "" if self.mirror is None else self.mirror.removeprefix(_S3).partition("/")[2]
        return rest.rstrip("/") or None
