"""The arguments of a notebook instance, as the rules see them."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_fleet.rules.terms import InternetAccess
from llm_fleet.sagemaker.notebook.git_repository import GitRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookView:
    """What the rules judge (`NotebookLike`)."""

    notebook_name: str | None
    instance_type: str
    platform: str
    volume_gib: int
    idle_minutes: int | None
    repositories: Sequence[GitRepository]
    pins: Sequence[str]
    name_prefixes: Sequence[str]
    internet: bool
    has_network: bool
    network_internet: InternetAccess | None
