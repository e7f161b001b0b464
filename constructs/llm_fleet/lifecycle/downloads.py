"""What nodes may fetch when they start, and from where."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aws_cdk import aws_s3 as s3

from llm_fleet.named_files.named_file import lock_problems, locked_files
from llm_fleet.rules.buckets import check_key_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloads:
    """What nodes may fetch when they start, and from where. Make one with `none`, `mirror` or `vendor`.

    Whatever is fetched is named in a lock file with its SHA-256, which the nodes compare: `llm-fleet mirror lock`
    writes it, and `llm-fleet mirror build` fills a bucket from it.
    """

    source: Literal["none", "mirror", "vendor"] = "none"
    bucket: s3.IBucket | s3.Bucket | None = None
    prefix: str | None = None
    lock: Path | None = None

    @classmethod
    def none(cls) -> "Downloads":
        """Nothing: nodes have what their image carries, and the bundle. A step that misses something says so."""
        return cls()

    @classmethod
    def mirror(cls, *, bucket: s3.IBucket | s3.Bucket, lock: Path, prefix: str | None = None) -> "Downloads":
        """The files of `lock`, from a mirror in `bucket` below `prefix`: the nodes need no way to the internet."""
        return cls(source="mirror", bucket=bucket, prefix=prefix, lock=lock)

    @classmethod
    def vendor(cls, *, lock: Path) -> "Downloads":
        """The files of `lock`, each from its vendor's own address, through the network's way out."""
        return cls(source="vendor", lock=lock)

    @property
    def key_prefix(self) -> str:
        """The prefix of the mirror without slashes at its ends; empty for the whole bucket."""
        return (self.prefix or "").strip("/")

    def problems(self) -> list[Problem]:
        """Return what is wrong with it, by its fields."""
        found = [problem.under("lock") for problem in lock_problems(self.lock)] if self.lock is not None else []
        return [*check_key_prefix(self.prefix, Code.DOWNLOADS_MIRROR), *found]

    def rendered(self) -> dict[str, Any]:
        """Return it as `fleet.json` has it. Raises `OSError` or `ValueError` when the lock file cannot be read."""
        return {
            "source": self.source,
            "mirror_s3_uri": self._uri(),
            "files": locked_files(self.lock) if self.lock is not None else [],
        }

    def _uri(self) -> str | None:
        if self.bucket is None:
            return None
        return f"s3://{self.bucket.bucket_name}/{self.key_prefix}".rstrip("/")
