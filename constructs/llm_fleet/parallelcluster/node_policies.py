"""The IAM policies that nodes have beyond ParallelCluster's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePolicies:
    """ARNs of managed policies (`Iam/AdditionalIamPolicies`); the provider attaches those named `parallelcluster…`."""

    head_node: Sequence[str] = ()
    queues: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """By queue."""
    login_pools: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """By login pool."""
