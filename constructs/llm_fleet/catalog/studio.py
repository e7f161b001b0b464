"""What SageMaker Studio takes, and what is chosen where nobody chooses."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.limit import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioFacts:
    """Limits and choices."""

    default_instance: str
    default_idle_minutes: int
    default_volume_gib: int
    default_maximum_volume_gib: int
    idle_minutes: Limit
    volume_gib: Limit
    """EBS volume of a space."""
    uid: Limit
    gid: Limit
    domain_name: Limit
    user_name: Limit
    """Of a user profile."""
    script_name: Limit
    script_characters: Limit
    """Of a lifecycle configuration's content, which is Base64."""
    lustre_directory: Limit
    repository_url: Limit
    repositories: int
    addresses_per_user: int
    """That AWS recommends to have, at the most."""
    addresses_of_home: int
    """Of a mount target of EFS, one in each subnet."""
    example_uid: int
    log_group: str
    """Where applications and lifecycle scripts of all domains write, in streams that begin with a domain's id."""
    retired_families: Mapping[str, str]
    """Families that new users do not get any more, and a type in their place."""
    unknown_to_cloudformation: tuple[str, ...]
    """Families that the API has and CloudFormation's schema does not."""
    instances: tuple[str, ...]
    """Types by their `ml.` names, in the order of the API's list."""


@cache
def studio_facts() -> StudioFacts:
    """Return the facts, read once a process."""
    facts = dict(load("studio"))
    families = facts.pop("instances")
    limits = {name: Limit(**facts.pop(name)) for name, value in list(facts.items()) if _is_limit(value)}
    return StudioFacts(
        instances=tuple(f"ml.{family}.{size}" for family, sizes in families.items() for size in sizes),
        unknown_to_cloudformation=tuple(facts.pop("unknown_to_cloudformation")),
        **limits,
        **facts,
    )


def _is_limit(value: object) -> bool:
    return isinstance(value, dict) and "maximum" in value
