"""What a domain is made of, in one value that the rules and the renderers read."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.rules.sagemaker.studio_terms import StudioInternet, StudioSignIn
from llm_fleet.sagemaker.studio.studio_user import StudioUser


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioSettings:
    """The plain values of a domain (`StudioLike`)."""

    domain_name: str | None
    sign_in: StudioSignIn
    internet: StudioInternet
    users: Sequence[StudioUser]
    instance_type: str
    allowed_instance_types: Sequence[str]
    idle_minutes: int | None
    volume_gib: int
    maximum_volume_gib: int
    home_efs: bool
    lustre_directory: str
    code_repositories: Sequence[str]
    pins: Sequence[str]
    name_prefixes: Sequence[str]
