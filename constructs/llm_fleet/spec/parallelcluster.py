"""A ParallelCluster: what it is by itself, and what it stands on, which its rules read together."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, WithJsonSchema

from llm_fleet.catalog.parallelcluster import DEFAULT_VERSION, Os
from llm_fleet.rules.terms import ImmutableChanges, QueueUpdateStrategy, ScalingStrategy
from llm_fleet.spec.cluster import ClusterSpec
from llm_fleet.spec.node_setup import NodeScripts
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import Queue
from llm_fleet.spec.parallelcluster_storage import SharedStorage
from llm_fleet.spec.references import Policy
from llm_fleet.spec.slurm_database import Accounting
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import IDLE_TIME, AnyText, Days, InFile, Named, Several

_NEVER = "never"
_NEVER_MINUTES = -1


def _read_idle_time(written: Any) -> int:
    return _NEVER_MINUTES if written == _NEVER else IDLE_TIME.parse(written)


_IdleMinutes = Annotated[
    int,
    InFile(Any, _read_idle_time),
    WithJsonSchema({"anyOf": [IDLE_TIME.json_schema(), {"const": _NEVER}]}),
]
"""Minutes, written as `10 min` or `1 h` in a fleet file; `never` is -1."""


class SlurmSettings(Spec):
    """Settings of Slurm (`SlurmSettings`), and of how nodes come and go."""

    other_words: ClassVar[Mapping[str, str]] = {
        "ScaledownIdletime": "write `scaledown`, with its unit",
        "QueueUpdateStrategy": "write `queue_update`",
        "EnableMemoryBasedScheduling": "write `memory_based`",
        "CustomSlurmSettings": "write `settings`",
        "CustomSlurmSettingsIncludeFile": "write `settings_file`",
        "Database": "write `accounting` of the cluster",
        "ExternalSlurmdbd": "write `accounting` of the cluster",
    }

    scaledown_idletime_minutes: Annotated[_IdleMinutes | None, Field(alias="scaledown")] = None
    """How long a node idles before it goes, e.g. `10 min`, or `never`, which is -1 in Python. Default: 10 minutes."""
    scaling_strategy: Annotated[ScalingStrategy, Field(alias="scaling")] = ScalingStrategy.ALL_OR_NOTHING
    """What becomes of a job whose nodes are not all to be had. Default: `all-or-nothing`: none is paid for."""
    queue_update_strategy: Annotated[QueueUpdateStrategy, Field(alias="queue_update")] = QueueUpdateStrategy.DRAIN
    """What an update does to nodes that must be replaced. Default: `DRAIN`, so that no job is killed.

    ParallelCluster's own default refuses the update until someone stops the fleet."""
    memory_based_scheduling: Annotated[bool, Field(alias="memory_based")] = False
    """Whether Slurm hands out memory as it does CPUs, and holds jobs to it. Default: no."""
    custom_settings: Annotated[Several[Mapping[str, Any]], Field(alias="settings")] = ()
    """Further settings, in the words of slurm.conf, as a list of mappings. Default: none."""
    custom_settings_file: Annotated[str | None, Field(alias="settings_file")] = None
    """A file of such settings in their place, `s3://…`. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none."""


class ParallelClusterSpec(ClusterSpec):
    """An AWS ParallelCluster with Slurm, by itself."""

    head_node: Annotated[HeadNode, Field(alias="head", examples=[{"type": "c5.4xlarge"}, "{type: c5.4xlarge}"])]
    """The head node, which runs Slurm's daemons."""
    queues: Annotated[Named[Queue], Field(examples=[{}, "{trn1: {type: trn1.32xlarge, max: 4}}"])]
    """Its queues; by name in a fleet file."""
    login_pools: Annotated[Named[LoginPool], Field(alias="login")] = ()
    """Its pools of login nodes; by name in a fleet file. Default: none; people log in to the head node."""
    scheduler: str = "slurm"
    """The scheduler. Default: `slurm`, the only one that ParallelCluster has left."""
    version: Annotated[str, AnyText()] = DEFAULT_VERSION
    """The version of ParallelCluster, in quotes in a fleet file. Only that very version can update the cluster, so
    another one is another cluster. Default: `"3.16.1"`."""
    os: Annotated[str, AnyText()] = str(Os.ALINUX2023)
    """The operating system of its nodes. Default: `alinux2023`, which AWS maintains the drivers of EFA, Lustre and
    Neuron for."""
    image_id: Annotated[str | None, Field(alias="image")] = None
    """An image of your own, `ami-…`, built for this version of ParallelCluster. Default: ParallelCluster's."""
    shared_storage: Annotated[Named[SharedStorage], Field(alias="storage")] = ()
    """File systems beside the fleet's `fsx` and `home`, which all nodes mount anyhow; by name in a fleet file. Default:
    none."""
    slurm: SlurmSettings = SlurmSettings()
    """Settings of Slurm, and of how nodes come and go."""
    permissions_boundary: Policy | None = None
    """The managed policy that bounds all roles that ParallelCluster makes; in a fleet file its ARN. Default: none."""
    iam_resource_prefix: Annotated[str | None, Field(alias="iam_prefix")] = None
    """What the names of those roles begin with, or a path below `/parallelcluster/`. Default: as ParallelCluster's."""
    detailed_monitoring: bool = False
    """Whether CloudWatch has metrics of the nodes for each minute. Default: no; for each five minutes."""
    log_retention_days: Annotated[Days, Field(alias="logs")] = 180
    """How long the nodes' logs are kept, the cluster's end included. Default: `180 days`."""
    immutable_changes: ImmutableChanges = ImmutableChanges.REFUSE
    """What becomes of a change that the cluster cannot take: `refuse`, or `new-cluster`. Default: `refuse`.

    A new cluster comes up beside the old one, which goes once it stands. Where nothing says what is `deployed`, each
    such change makes one."""
    fleet_is_stopped: bool = False
    """Whether you have stopped the compute fleet, so that changes pass which need that. Default: no."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none."""
    accounting: Accounting | None = None
    """Where Slurm's accounting is kept, outside the cluster. Default: none."""
    scripts: Annotated[NodeScripts | None, InFile(NodeScripts)] = NodeScripts()
    """Which scripts nodes run once they are configured; in Python `None` for none. Default: those that llm-fleet
    ships."""

    @property
    def queue_of(self) -> Mapping[str, Queue]:
        """Its queues by their names."""
        return {queue.name: queue for queue in self.queues}

    @property
    def node_count(self) -> int:
        """How many nodes it has at most."""
        queued = sum(resource.max_count for queue in self.queues for resource in queue.compute_resources)
        return 1 + queued + sum(pool.count for pool in self.login_pools)

    @property
    def efa_with_address(self) -> bool:
        """Whether EFA's interfaces have addresses, as they had before ParallelCluster 3.15."""
        settings: Any = self.overrides.get("DevSettings")
        return isinstance(settings, Mapping) and "efa" in (settings.get("EfaInterfaceType"),)  # pyright: ignore[reportUnknownMemberType]


class PlacedParallelCluster(ParallelClusterSpec):
    """A cluster with every default filled in, and what it stands on: what its rules read, of file and Python alike.

    Its `shared_storage` has the fleet's file systems too. Any value may be a CDK token.
    """

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    cluster_name: str = ""  # pyright: ignore[reportIncompatibleVariableOverride]
    """Its name as the user gave it; ParallelCluster's has a hash behind it (see `name_with_hash`)."""
    region: str
