"""What a cluster's nodes are set up with beyond Slurm."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from llm_fleet.lifecycle.cluster_metrics import ClusterMetrics
from llm_fleet.lifecycle.cluster_user import ClusterUser
from llm_fleet.lifecycle.directory.directory import Directory
from llm_fleet.lifecycle.downloads import Downloads
from llm_fleet.lifecycle.neuron_host import NeuronHost
from llm_fleet.lifecycle.s3_mount import S3Mount
from llm_fleet.lifecycle.slurm_account import SlurmAccount
from llm_fleet.lifecycle.training_runtime import TrainingRuntime
from llm_fleet.rules.monitoring.metrics import check_is_metrics
from llm_fleet.rules.people.kinds import check_account_kinds, check_directory_kinds
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.training.forms import check_is_runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSetup:
    """What a cluster's nodes are set up with beyond Slurm, as the cluster's parameters of these names say."""

    users: Sequence[ClusterUser] = ()
    slurm_accounts: Sequence[SlurmAccount] = ()
    directory: Directory | None = None
    s3_mounts: Sequence[S3Mount] = ()
    neuron: NeuronHost | None = None
    training: TrainingRuntime | None = None
    downloads: Downloads = field(default_factory=Downloads.none)
    metrics: ClusterMetrics | None = None

    def __post_init__(self) -> None:
        """Raise `FleetError` for a training runtime, metrics, accounts or a directory that are none."""
        raise_problems(
            [
                *check_is_runtime(self.training, "training"),
                *check_is_metrics(self.metrics, ClusterMetrics, "metrics"),
                *check_account_kinds(self.slurm_accounts, SlurmAccount),
                *check_directory_kinds(self.directory, Directory),
            ]
        )


def known_users(setup: NodeSetup) -> tuple[str, ...] | None:
    """Return the login names that nodes of `setup` know; `None` with a directory, whose people nobody knows here."""
    return None if setup.directory is not None else tuple(user.name for user in setup.users)
