"""What the systems on nodes keep for themselves of user names and ids."""

import re
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUserFacts:
    """What the systems on nodes keep for themselves of user names and ids."""

    name_form: re.Pattern[str]
    account_form: re.Pattern[str]
    """Of a Slurm account."""
    first_id: int
    last_id: int
    taken_ids: tuple[tuple[int, int, str], ...]
    """First and last id of each range that is taken, and why."""
    example_id: int
    home_form: re.Pattern[str]
    """What a home must look like; stricter than Linux."""
    home_depth: int
    """How many folders its path names at least."""
    system_folders: frozenset[str]
    """Folders of the root that no home can be in."""
    taken_names: frozenset[str]
    """Users and groups that images and packages bring."""
    key_types: tuple[str, ...]
    """Types of public SSH keys, as their text begins."""


@cache
def node_user_facts() -> NodeUserFacts:
    """Return the facts, read once a process."""
    facts = load("node_users")
    return NodeUserFacts(
        name_form=re.compile(facts["name_pattern"]),
        account_form=re.compile(facts["account_pattern"]),
        first_id=facts["first_id"],
        last_id=facts["last_id"],
        taken_ids=tuple((taken["first"], taken["last"], taken["why"]) for taken in facts["taken_ids"]),
        example_id=facts["example_id"],
        home_form=re.compile(facts["home_pattern"]),
        home_depth=facts["home_depth"],
        system_folders=frozenset(facts["system_folders"]),
        taken_names=frozenset(facts["taken_names"]),
        key_types=tuple(facts["key_types"]),
    )
