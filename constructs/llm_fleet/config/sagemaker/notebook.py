"""A notebook instance of a fleet file: beside its description, what it names of the rest of the fleet."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from llm_fleet.spec.notebook import NotebookSpec


class NotebookConfig(NotebookSpec):
    """A notebook instance of SageMaker. Its key is its name, after that of the fleet."""

    bucket_keys: Annotated[tuple[str, ...], Field(alias="buckets", examples=[["data"]])] = ()
    """Which of `storage.buckets` it works with; the first is the SDK's default bucket. Default: one of its own."""
    clusters: tuple[str, ...] = ()
    """Clusters of the fleet on whose nodes shells are opened from it. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of the notebook, next to those of the fleet. Default: none."""

    def in_fleet(self, fleet_name: str) -> NotebookSpec:
        """Return it under the name that two fleets of an account can both have."""
        return self.narrowed(NotebookSpec, name=f"{fleet_name}-{self.name}")
