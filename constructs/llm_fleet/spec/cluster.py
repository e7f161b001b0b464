"""What the descriptions of clusters of every kind have in common: among it what their nodes are set up with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from llm_fleet.rules.terms import LifecycleHook, NodeReports, NodeType, ParallelClusterHook
from llm_fleet.spec.monitoring import ClusterMetrics
from llm_fleet.spec.node_setup import Downloads, NeuronHost, S3Mount
from llm_fleet.spec.people import ClusterUser, Directory, SlurmAccount
from llm_fleet.spec.spec import PYTHON_ONLY, Spec
from llm_fleet.spec.training_runtime import TrainingRuntime
from llm_fleet.spec.values import Named, Several


class ClusterSpec(Spec):
    """A cluster that runs Slurm, on HyperPod or ParallelCluster, by itself."""

    cluster_name: Annotated[str | None, Field(alias="name")] = None
    """The cluster's name. Default: its key in a fleet file; in Python one that is made of the construct's path."""
    availability_zone_id: Annotated[str | None, Field(alias="az")] = None
    """AZ id of its compute subnet. Default: that of the Lustre file system, the fleet's `fsx`, else the network's
    first."""
    tags: Mapping[str, str] = {}
    """Tags of the cluster, next to those of the fleet or of its stack. Default: none."""
    users: Named[ClusterUser] = ()
    """People with the same ids on every node; by login name in a fleet file. Default: the image's own user."""
    slurm_accounts: Annotated[Named[SlurmAccount], Field(examples=["{research: {max_jobs: 8}}"])] = ()
    """The tree of Slurm's accounts with its limits, which then hold for everybody; by name in a fleet file. Default:
    those that users name, without limits."""
    directory: Directory | None = None
    """An LDAP directory that nodes know further people from. Default: the fleet's."""
    s3_mounts: Several[S3Mount] = ()
    """Buckets that nodes see as folders. Default: none."""
    neuron: NeuronHost | None = None
    """The Neuron SDK that hosts carry. Default: whichever release the image has."""
    training: Annotated[
        TrainingRuntime | None, Field(examples=[{"environments": {}}, "{environments: {nxd: {kind: neuron}}}"])
    ] = None
    """What nodes carry for training jobs: `neuron` for the usual environment, or more about it. Default: nothing."""
    downloads: Downloads | None = None
    """What nodes may fetch when they start. Default: nothing but the lifecycle bundle."""
    reports: NodeReports = NodeReports.ALL
    """What a node leaves behind of its start: `all`, `s3` (report and log, no metric, no event) or `none`.

    Default: `all`. In a network without internet an event needs `endpoints: [events]`."""
    metrics: Annotated[ClusterMetrics | None, Field(alias=f"{PYTHON_ONLY} metrics")] = None
    """What nodes measure of themselves each minute, and where it goes; a fleet file says it under `monitoring`. A role
    of your own must be allowed to write there. Default: nothing is measured."""

    @property
    def known_users(self) -> tuple[str, ...] | None:
        """The login names that nodes know; `None` with a directory, whose people nobody knows here."""
        return None if self.directory is not None else tuple(user.name for user in self.users)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """One group of a cluster's nodes, as the nodes need to know it. Any name may be a CDK token."""

    name: str
    """`InstanceGroupName`; on ParallelCluster a queue's name, `HeadNode`, or `LoginNodes-` and a pool's."""
    role: NodeType
    """What its nodes do in Slurm."""
    instance_types: Sequence[str]
    """The `ml.` names that it may be made of, by priority; on ParallelCluster EC2's own, without `ml.`.

    Types made by `InstanceType.of` bring their own facts."""
    partition: str | None = None
    """Slurm partition; `None` on controller and login groups."""
    efa: bool = True
    """Whether the platform attaches the EFA interfaces that its types have."""
    hook: LifecycleHook | ParallelClusterHook | None = LifecycleHook.ON_INIT_COMPLETE
    """When its nodes run the bundle; `None` when the AMI does all and they never do."""
    script: str | None = None
    """File name of the script that the platform is told to run. Default: the hook's own, e.g. `on_init_complete.sh`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMount:
    """A file system that nodes mount. Names may be tokens: they are resolved when the bundle is deployed."""

    kind: Literal["lustre", "open_zfs"]
    """Which of the two file systems it is."""
    mount_path: str
    """Absolute path on the node."""
    dns_name: str = ""
    """Name to mount it by; a fleet file does not know it."""
    mount_name: str | None = None
    """Lustre's generated name; `None` for OpenZFS, and in a fleet file."""
    efa: bool | None = None
    """Whether EFA must be used where the node has it; `None` when nobody knows (an imported file system)."""
    groups: Sequence[str] | None = None
    """Names of the groups that mount it. Default: all."""
    availability_zone_id: str | None = None
    """The zone it stands in, where known."""
