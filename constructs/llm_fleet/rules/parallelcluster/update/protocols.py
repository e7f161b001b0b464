"""What the rules of updates ask of the configuration that was deployed last."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class DeployedLike(Protocol):
    """The cluster as it was deployed last."""

    @property
    def cluster_name(self) -> str | None:
        """ParallelCluster's name of it; `None` where the file does not tell."""
        ...

    @property
    def version(self) -> str | None:
        """Version of ParallelCluster; `None` where the file does not tell."""
        ...

    @property
    def configuration(self) -> Mapping[str, Any]:
        """ParallelCluster's configuration, intrinsic functions as they are in the template."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The cluster as it is to be deployed next; see `DeployedLike`."""

    configuration: Mapping[str, Any]
    cluster_name: str | None
    version: str | None
