"""The buckets that a ParallelCluster configuration lets nodes use."""

from typing import Any, cast

from llm_fleet.cli.importing.parallelcluster.section import Section
from llm_fleet.cli.importing.parallelcluster.values import truth


class Buckets:
    """What nodes may read and write, of all kinds of nodes together."""

    def __init__(self) -> None:
        self._reads: dict[str, None] = {}
        self._writes: dict[str, None] = {}

    def add(self, section: Section) -> None:
        """Take the `S3Access` of one kind of nodes; the fleet's nodes all have the same."""
        for access in section.items("Iam/S3Access"):
            given = cast("dict[str, Any]", access) if isinstance(access, dict) else {}
            name = str(given.get("BucketName", ""))
            if not name or "*" in name:
                section.notes.left_out(
                    f"{section.say('Iam/S3Access')} {name}: a fleet file names each bucket that nodes may use"
                )
                continue
            if given.get("KeyName"):
                section.notes.chosen(f"{section.say('Iam/S3Access')} {name}: the whole bucket, not {given['KeyName']}")
            bucket = f"s3://{name}"
            (self._writes if truth(given.get("EnableWriteAccess")) else self._reads)[bucket] = None

    @property
    def keys(self) -> dict[str, Any]:
        """The keys `reads` and `writes` of the cluster."""
        reads = [name for name in self._reads if name not in self._writes]
        return {key: names for key, names in (("reads", reads), ("writes", list(self._writes))) if names}
