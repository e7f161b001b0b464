"""What a cluster's nodes are set up with beyond Slurm."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from llm_fleet.lifecycle.cluster_user import ClusterUser
from llm_fleet.lifecycle.downloads import Downloads
from llm_fleet.lifecycle.neuron_host import NeuronHost
from llm_fleet.lifecycle.s3_mount import S3Mount


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSetup:
    """What a cluster's nodes are set up with beyond Slurm, as the cluster's parameters of these names say."""

    users: Sequence[ClusterUser] = ()
    s3_mounts: Sequence[S3Mount] = ()
    neuron: NeuronHost | None = None
    downloads: Downloads = field(default_factory=Downloads.none)
