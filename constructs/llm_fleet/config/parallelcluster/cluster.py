"""A ParallelCluster."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from llm_fleet.catalog.parallelcluster import DEFAULT_VERSION, Os
from llm_fleet.config.accounting import FLEET_DATABASE
from llm_fleet.config.node_setup import NodeSetupModel
from llm_fleet.config.parallelcluster.accounting import AnySlurmAccounting, or_fleet_database
from llm_fleet.config.parallelcluster.head_node import HeadNodeConfig
from llm_fleet.config.parallelcluster.login_pool import LoginPoolConfig
from llm_fleet.config.parallelcluster.other_words import OF_CLUSTER
from llm_fleet.config.parallelcluster.queue import QueueConfig
from llm_fleet.config.parallelcluster.shared_storage import SharedStorageConfig
from llm_fleet.config.parallelcluster.slurm import SlurmConfig
from llm_fleet.config.parallelcluster.steps import StepsConfig
from llm_fleet.rules.parallelcluster.terms import ImmutableChanges
from llm_fleet.spec.model import name_entries
from llm_fleet.spec.values import Days, PolicyArn


class ParallelClusterConfig(NodeSetupModel):
    """An AWS ParallelCluster with Slurm. Its key is the cluster's name, unless `name` says otherwise."""

    written_as: ClassVar[Mapping[str, str]] = {"cluster_name": "name"}
    other_words: ClassVar[Mapping[str, str]] = OF_CLUSTER

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    kind: Literal["parallelcluster"] = Field(examples=["parallelcluster"])  # pyright: ignore[reportIncompatibleVariableOverride]
    """What runs the cluster."""
    head_node: HeadNodeConfig = Field(alias="head", examples=[{"type": "c5.4xlarge"}, "{type: c5.4xlarge}"])
    """The head node, which runs Slurm's daemons."""
    queues: Mapping[str, QueueConfig] = Field(examples=[{}, "{trn1: {type: trn1.32xlarge, max: 4}}"])
    """Its queues, by name."""
    login_pools: Mapping[str, LoginPoolConfig] = Field(default={}, alias="login")
    """Its pools of login nodes, by name. Default: none; people log in to the head node."""
    scheduler: str = "slurm"
    """The scheduler. Default: `slurm`, the only one that ParallelCluster has left."""
    version: str = DEFAULT_VERSION
    """The version of ParallelCluster, in quotes. Another one is another cluster. Default: `"3.16.1"`."""
    os: str = str(Os.ALINUX2023)
    """The operating system of its nodes. Default: `alinux2023`."""
    image_id: str | None = Field(default=None, alias="image")
    """An image of your own, `ami-…`, built for this version of ParallelCluster. Default: ParallelCluster's."""
    shared_storage: Mapping[str, SharedStorageConfig] = Field(default={}, alias="storage")
    """File systems beside the fleet's `fsx` and `home`, which all nodes mount anyhow. Default: none."""
    slurm: SlurmConfig = SlurmConfig()
    """Settings of Slurm, and of how nodes come and go."""
    accounting: AnySlurmAccounting | None = Field(
        default=None, examples=[FLEET_DATABASE], json_schema_extra=or_fleet_database
    )
    """Where Slurm's accounting is kept: `slurm_database`, the fleet's, another, or a slurmdbd. Default: none."""
    steps: StepsConfig = Field(default_factory=StepsConfig, alias="scripts")
    """Which steps nodes take when they start. Default: those that llm-fleet ships."""
    permissions_boundary_arn: PolicyArn | None = Field(default=None, alias="permissions_boundary")
    """ARN of the managed policy that bounds all roles that ParallelCluster makes. Default: none."""
    iam_resource_prefix: str | None = Field(default=None, alias="iam_prefix")
    """What the names of those roles begin with, or a path below `/parallelcluster/`. Default: as ParallelCluster's."""
    detailed_monitoring: bool = False
    """Whether CloudWatch has metrics of the nodes for each minute. Default: no; for each five minutes."""
    log_retention_days: Days = Field(default=180, alias="logs")
    """How long the nodes' logs are kept, the cluster's end included. Default: `180 days`."""
    deployed: str | None = None
    """A file with what is deployed, from where this file lies, by which each change is judged. Default: none.

    It is the stack's template, as `aws cloudformation get-template` gives it, or a ParallelCluster YAML."""
    immutable_changes: ImmutableChanges = ImmutableChanges.REFUSE
    """What becomes of a change that the cluster cannot take: `refuse`, or `new-cluster`. Default: `refuse`.

    A new cluster comes up beside the old one, which goes once it stands."""
    fleet_is_stopped: bool = False
    """Whether you have stopped the compute fleet, so that changes pass which need that. Default: no."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none."""

    _directory: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _tell_parts(self) -> Self:
        name_entries(self.queues)
        name_entries(self.login_pools)
        name_entries(self.shared_storage)
        return self

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that relative paths begin at; for the loader."""
        super().stand_in(directory)
        self._directory = directory
        self.steps.stand_in(directory)

    @property
    def deployed_path(self) -> Path | None:
        """Where `deployed` is, as seen from the process; `None` for none."""
        return None if self.deployed is None else self._directory / self.deployed

    @property
    def node_count(self) -> int:
        """How many nodes it has at most."""
        queued = sum(resource.max_count for queue in self.queues.values() for resource in queue.compute_resources)
        return 1 + queued + sum(pool.count for pool in self.login_pools.values())
