"""What Slurm's accounts can be limited by, and ids that SSSD gives people of a directory."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmLimitFacts:
    """What accounts and limits of Slurm must look like."""

    largest: Mapping[str, int]
    """The largest limit that slurmdbd takes: by `fairshare`, `max_wall_minutes`, `resource`, and `count` for others."""
    counted: tuple[str, ...]
    """Resources (TRES) that every Slurm counts without being told to."""
    tres_form: re.Pattern[str]
    """How a resource is written, as a whole."""
    enforce: tuple[str, ...]
    """What `AccountingStorageEnforce` must say for limits to hold."""
    root_account: str
    """The account above all, which every Slurm has."""
    image_account: str
    """Where nodes put the image's own user, who could submit no job otherwise."""
    first_mapped_id: int
    """The lowest id that SSSD gives a person of a directory, unless told otherwise."""
    last_mapped_id: int
    """The highest."""


@cache
def slurm_limit_facts() -> SlurmLimitFacts:
    """Return the facts, read once a process."""
    facts = load("slurm_limits")
    return SlurmLimitFacts(
        largest=facts["largest"],
        counted=tuple(facts["counted"]),
        tres_form=re.compile(facts["tres_pattern"]),
        enforce=tuple(facts["enforce"]),
        root_account=facts["root_account"],
        image_account=facts["image_account"],
        first_mapped_id=facts["mapped_ids"]["first"],
        last_mapped_id=facts["mapped_ids"]["last"],
    )
