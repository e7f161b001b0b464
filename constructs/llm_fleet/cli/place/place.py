"""A cluster or service in AWS."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What it is."""

    HYPERPOD = "hyperpod"
    PARALLELCLUSTER = "parallelcluster"
    SERVICE = "service"

    @property
    def in_words(self) -> str:
        """For people."""
        return _WORDS[self]


_WORDS = {
    Kind.HYPERPOD: "HyperPod cluster",
    Kind.PARALLELCLUSTER: "cluster of ParallelCluster",
    Kind.SERVICE: "inference service",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One cluster or service, deployed or not."""

    kind: Kind
    name: str
    """In AWS: of a HyperPod cluster its name; of ParallelCluster's the beginning of it, before `-` and eight digits of
    a hash; of a service what its ECS service and stack are called."""
    region: str | None
    """`None`: that of the AWS settings."""
    key: str | None = None
    """In the fleet file; `None` when there is no file."""
    stack: str | None = None
    """The CloudFormation stack that makes it; `None` when there is no file."""

    def __str__(self) -> str:
        # Who asked in a wrong region finds nothing: the region is told wherever the place is.
        return f"{self.kind.in_words} {self.name}" + (f" in {self.region}" if self.region else "")
