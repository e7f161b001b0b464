"""A cluster that people reach from where they work."""

from collections.abc import Sequence
from typing import Protocol

from aws_cdk import aws_iam as iam


class ReachGrants(Protocol):
    """What of a cluster's grants the reach is made of."""

    def ssm_session(self, grantee: iam.IGrantable, *, documents: Sequence[str] | None = None) -> iam.Grant:
        """Let `grantee` open a shell on the cluster's nodes."""
        ...

    def submit_jobs(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` do what `llm-fleet jobs submit` and `logs` do."""
        ...


class ReachableCluster(Protocol):
    """A `HyperPodCluster` or `ParallelCluster`, made here or elsewhere (their `from_…`)."""

    @property
    def grants(self) -> ReachGrants:
        """What others may do with it."""
        ...
