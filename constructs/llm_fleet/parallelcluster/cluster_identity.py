"""What tells a cluster from one that no update could turn into it."""

from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.parallelcluster.cluster_plan import ClusterPlan
from llm_fleet.parallelcluster.render_configuration import render_configuration
from llm_fleet.rules.parallelcluster.identity import identity_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterIdentity:
    """The hash of what no update changes, and the name that carries it."""

    digits: str
    """Eight hexadecimal digits."""
    cluster_name: str
    """ParallelCluster's name of the cluster: the user's with the digits."""
    configuration: dict[str, Any]
    """What it was made of: the configuration without scripts and policies, which hold the name themselves."""

    @property
    def id(self) -> str:
        """The construct id below which everything of this very cluster stands.

        Another hash is another id, and so another logical id: CloudFormation makes the new cluster with all that
        belongs to it, and then deletes the old one with all that belonged to that.
        """
        return f"Cluster{self.digits}"

    @classmethod
    def of(cls, scope: Construct, plan: ClusterPlan) -> "ClusterIdentity":
        """Return the identity of the cluster of `plan` at `scope`."""
        configuration = render_configuration(plan.shape)
        resolve = cdk.Stack.of(scope).resolve
        digits = identity_hash(resolve(configuration), plan.shape.version, scripts=resolve(_place_of_scripts(plan)))
        return cls(digits=digits, cluster_name=f"{plan.shape.cluster_name}-{digits}", configuration=configuration)


def _place_of_scripts(plan: ClusterPlan) -> dict[str, str] | None:
    """Return what the keys of the scripts begin with, before the cluster's own name."""
    if plan.scripts is None:
        return None
    bucket = plan.scripts.bucket
    return {"Bucket": bucket.bucket_name if bucket is not None else "made with the cluster", "Fleet": plan.fleet_name}
