"""The closed vocabularies of the services, spelt as their APIs spell them. Compared with botocore by a test."""

from enum import StrEnum


class NodeType(StrEnum):
    """What a HyperPod instance group does in Slurm (`SlurmConfig.NodeType`)."""

    CONTROLLER = "Controller"
    LOGIN = "Login"
    COMPUTE = "Compute"


class LifecycleHook(StrEnum):
    """When a HyperPod node runs the lifecycle script (`LifeCycleConfig`)."""

    ON_INIT_COMPLETE = "OnInitComplete"
    """After the AMI has configured Slurm, Docker, Enroot, Pyxis and accounting."""
    ON_CREATE = "OnCreate"
    """In place of it: HyperPod configures nothing and starts no Slurm daemon."""


class ParallelClusterHook(StrEnum):
    """When a node of AWS ParallelCluster runs the bundle (`CustomActions`)."""

    ON_NODE_CONFIGURED = "OnNodeConfigured"
    """Once ParallelCluster has configured it; slurmd is started afterwards."""


class NodePlatform(StrEnum):
    """Who starts the nodes, as `fleet.json` spells it."""

    HYPERPOD = "hyperpod"
    PARALLELCLUSTER = "parallelcluster"


class NodeReports(StrEnum):
    """What a node leaves behind of its start."""

    ALL = "all"
    """Its report and log in S3; a metric and an event when the start failed."""
    S3 = "s3"
    """Its report and log in S3, and nothing else."""
    NONE = "none"
    """Nothing outside the node and its own log group."""


class SlurmConfigStrategy(StrEnum):
    """How HyperPod treats edits of slurm.conf (`Orchestrator.Slurm.SlurmConfigStrategy`)."""

    OVERWRITE = "Overwrite"
    MANAGED = "Managed"
    MERGE = "Merge"


class NodeRecovery(StrEnum):
    """Whether HyperPod replaces a sick node by itself."""

    AUTOMATIC = "Automatic"
    NONE = "None"


class NodeProvisioningMode(StrEnum):
    """How HyperPod brings up instances. `CONTINUOUS` is the only value that the API knows; else it is left out."""

    CONTINUOUS = "Continuous"


class DeepHealthCheck(StrEnum):
    """Stress tests that a node passes before it may join (`OnStartDeepHealthChecks`)."""

    INSTANCE_STRESS = "InstanceStress"
    INSTANCE_CONNECTIVITY = "InstanceConnectivity"
    MULTI_NODE_TRAINING_VALIDATION = "MultiNodeTrainingValidation"


class PatchingStrategy(StrEnum):
    """How HyperPod patches the nodes of a group by itself (`AutoPatchConfig.PatchingStrategy`)."""

    WHEN_IDLE = "WhenIdle"
    WHEN_ALL_IDLE = "WhenAllIdle"
    DRAIN_FIRST = "DrainFirst"


class OnDrainTimeout(StrEnum):
    """What happens to a node that does not drain in time (`DrainPolicy.OnDrainTimeout`)."""

    SKIP = "Skip"
    FORCE = "Force"


class CapacityUnit(StrEnum):
    """What the size of an update's batch counts (`CapacitySizeConfig.Type`)."""

    INSTANCE_COUNT = "INSTANCE_COUNT"
    CAPACITY_PERCENTAGE = "CAPACITY_PERCENTAGE"


class InternetAccess(StrEnum):
    """Whether the nodes of a network reach the internet."""

    NAT = "nat"
    """Outwards only, through a NAT gateway in each AZ."""
    SHARED_NAT = "shared-nat"
    """Outwards only, through one NAT gateway in the first AZ."""
    NONE = "none"
    """Not at all: every service that the nodes need has an endpoint in the VPC."""


class EndpointFeature(StrEnum):
    """What nodes without internet may do, each with an endpoint of its own."""

    ACCOUNTING = "accounting"
    """Slurm accounting in a database outside the cluster, whose password is a secret."""
    METRICS = "metrics"
    """Node metrics written to Amazon Managed Service for Prometheus."""
    DASHBOARDS = "dashboards"
    """Amazon Managed Grafana, opened from inside the VPC."""
    INFERENCE = "inference"
    """Inference services on Amazon ECS."""
    SAGEMAKER_WORK = "sagemaker-work"
    """People who work in notebooks or in Studio."""


class CapacityType(StrEnum):
    """Where a queue's instances come from (`SlurmQueues/CapacityType`)."""

    ONDEMAND = "ONDEMAND"
    SPOT = "SPOT"
    CAPACITY_BLOCK = "CAPACITY_BLOCK"


class AllocationStrategy(StrEnum):
    """Which of several instance types EC2 gives (`SlurmQueues/AllocationStrategy`)."""

    LOWEST_PRICE = "lowest-price"
    CAPACITY_OPTIMIZED = "capacity-optimized"
    PRICE_CAPACITY_OPTIMIZED = "price-capacity-optimized"
    PRIORITIZED = "prioritized"
    CAPACITY_OPTIMIZED_PRIORITIZED = "capacity-optimized-prioritized"


class QueueUpdateStrategy(StrEnum):
    """What an update does to nodes that it must replace (`SlurmSettings/QueueUpdateStrategy`)."""

    DRAIN = "DRAIN"
    """Nodes are replaced once their jobs have ended."""
    TERMINATE = "TERMINATE"
    """Nodes are ended at once, and their jobs requeued."""
    COMPUTE_FLEET_STOP = "COMPUTE_FLEET_STOP"
    """The update is refused until someone stops the fleet."""


class ScalingStrategy(StrEnum):
    """What becomes of a job whose nodes are not all to be had (`Scheduling/ScalingStrategy`)."""

    ALL_OR_NOTHING = "all-or-nothing"
    GREEDY_ALL_OR_NOTHING = "greedy-all-or-nothing"
    BEST_EFFORT = "best-effort"


class StorageKind(StrEnum):
    """Kinds of shared storage (`SharedStorage/StorageType`)."""

    EBS = "Ebs"
    EFS = "Efs"
    FSX_LUSTRE = "FsxLustre"
    FSX_OPEN_ZFS = "FsxOpenZfs"
    FSX_ONTAP = "FsxOntap"
    FILE_CACHE = "FileCache"


class InternalStorage(StrEnum):
    """Where ParallelCluster keeps its own shared folders (`HeadNode/SharedStorageType`)."""

    EBS = "Ebs"
    """On the head node's volume: they go with it."""
    EFS = "Efs"
    """On an EFS of their own."""


class ImmutableChanges(StrEnum):
    """What becomes of a change that no update of the cluster can make."""

    REFUSE = "refuse"
    """It is refused, before anything is deployed."""
    NEW_CLUSTER = "new-cluster"
    """It makes another cluster beside the old one, which is deleted once the new one stands."""
