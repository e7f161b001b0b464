"""What a fleet is taken to want of its Lustre file system."""

from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class LustreNeedFacts:
    """Numbers to judge a file system by."""

    checkpoint_minutes: int
    """How long a checkpoint may take to be written: a rule of thumb, without a source."""
    scratch_mb_per_tib: int
    """MB/s that each TiB of a scratch file system has at all times."""
    gib_per_tib: int
    """How many GiB FSx counts as a TiB when it sells throughput."""


@cache
def lustre_need_facts() -> LustreNeedFacts:
    """Return the facts, read once a process."""
    return LustreNeedFacts(**load("lustre_need"))
