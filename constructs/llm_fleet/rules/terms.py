"""Enums of the services, spelled as in their APIs. A test compares them with botocore."""

from enum import StrEnum


class NodeType(StrEnum):
    """The role of a HyperPod instance group in Slurm (`SlurmConfig.NodeType`)."""

    CONTROLLER = "Controller"
    LOGIN = "Login"
    COMPUTE = "Compute"


class LifecycleHook(StrEnum):
    """When a HyperPod node runs the lifecycle script (`LifeCycleConfig`)."""

    ON_INIT_COMPLETE = "OnInitComplete"
    """After the AMI has configured Slurm, Docker, Enroot, Pyxis and accounting."""
    ON_CREATE = "OnCreate"
    """Instead of that: HyperPod configures nothing and starts no Slurm daemon."""


class ParallelClusterHook(StrEnum):
    """When a node of AWS ParallelCluster runs the bundle (`CustomActions`)."""

    ON_NODE_CONFIGURED = "OnNodeConfigured"
    """After ParallelCluster has configured it, and before slurmd is started."""


class NodePlatform(StrEnum):
    """The service that starts the nodes, as `fleet.json` spells it."""

    HYPERPOD = "hyperpod"
    PARALLELCLUSTER = "parallelcluster"


class NodeReports(StrEnum):
    """Where a node writes reports of its start."""

    ALL = "all"
    """Its report and log in S3; a metric and an event when the start failed."""
    S3 = "s3"
    """Only its report and log in S3."""
    NONE = "none"
    """Only the node itself and its log group."""


class SlurmConfigStrategy(StrEnum):
    """How HyperPod treats edits of slurm.conf (`Orchestrator.Slurm.SlurmConfigStrategy`)."""

    OVERWRITE = "Overwrite"
    MANAGED = "Managed"
    MERGE = "Merge"


class NodeRecovery(StrEnum):
    """Whether HyperPod replaces unhealthy nodes automatically."""

    AUTOMATIC = "Automatic"
    NONE = "None"


class NodeProvisioningMode(StrEnum):
    """How HyperPod provisions instances. `CONTINUOUS` is the only value in the API; the other mode is its absence."""

    CONTINUOUS = "Continuous"


class DeepHealthCheck(StrEnum):
    """Stress tests that a node must pass before it joins (`OnStartDeepHealthChecks`)."""

    INSTANCE_STRESS = "InstanceStress"
    INSTANCE_CONNECTIVITY = "InstanceConnectivity"
    MULTI_NODE_TRAINING_VALIDATION = "MultiNodeTrainingValidation"


class PatchingStrategy(StrEnum):
    """How HyperPod patches the nodes of a group automatically (`AutoPatchConfig.PatchingStrategy`)."""

    WHEN_IDLE = "WhenIdle"
    WHEN_ALL_IDLE = "WhenAllIdle"
    DRAIN_FIRST = "DrainFirst"


class OnDrainTimeout(StrEnum):
    """What happens to a node that does not drain in time (`DrainPolicy.OnDrainTimeout`)."""

    SKIP = "Skip"
    FORCE = "Force"


class CapacityUnit(StrEnum):
    """The unit of an update's batch size (`CapacitySizeConfig.Type`)."""

    INSTANCE_COUNT = "INSTANCE_COUNT"
    CAPACITY_PERCENTAGE = "CAPACITY_PERCENTAGE"


class InternetAccess(StrEnum):
    """The internet access of a network's nodes."""

    NAT = "nat"
    """Outbound only, through a NAT gateway in each AZ."""
    SHARED_NAT = "shared-nat"
    """Outbound only, through one NAT gateway in the first AZ."""
    NONE = "none"
    """None: every service that the nodes need has a VPC endpoint."""


class EndpointFeature(StrEnum):
    """Features that need additional VPC endpoints in a network without internet access."""

    ACCOUNTING = "accounting"
    """Slurm accounting in a database outside the cluster, whose password is a secret."""
    METRICS = "metrics"
    """Node metrics written to Amazon Managed Service for Prometheus."""
    DASHBOARDS = "dashboards"
    """Amazon Managed Grafana, opened from inside the VPC."""
    INFERENCE = "inference"
    """Inference services on Amazon ECS."""
    SAGEMAKER_WORK = "sagemaker-work"
    """Notebook instances and Studio."""


class CapacityType(StrEnum):
    """Where a queue's instances come from (`SlurmQueues/CapacityType`)."""

    ONDEMAND = "ONDEMAND"
    SPOT = "SPOT"
    CAPACITY_BLOCK = "CAPACITY_BLOCK"


class AllocationStrategy(StrEnum):
    """How EC2 chooses among several instance types (`SlurmQueues/AllocationStrategy`)."""

    LOWEST_PRICE = "lowest-price"
    CAPACITY_OPTIMIZED = "capacity-optimized"
    PRICE_CAPACITY_OPTIMIZED = "price-capacity-optimized"
    PRIORITIZED = "prioritized"
    CAPACITY_OPTIMIZED_PRIORITIZED = "capacity-optimized-prioritized"


class QueueUpdateStrategy(StrEnum):
    """How an update replaces nodes (`SlurmSettings/QueueUpdateStrategy`)."""

    DRAIN = "DRAIN"
    """Nodes are replaced after their jobs have ended."""
    TERMINATE = "TERMINATE"
    """Nodes are terminated immediately, and their jobs requeued."""
    COMPUTE_FLEET_STOP = "COMPUTE_FLEET_STOP"
    """The update fails unless the compute fleet is stopped."""


class ScalingStrategy(StrEnum):
    """How a job is handled when not all of its nodes can be launched (`Scheduling/ScalingStrategy`)."""

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
    """On the head node's volume, with which they are deleted."""
    EFS = "Efs"
    """On a separate EFS file system."""


class ImmutableChanges(StrEnum):
    """How a change is handled that no update of the cluster supports."""

    REFUSE = "refuse"
    """It is an error before deployment."""
    NEW_CLUSTER = "new-cluster"
    """It creates another cluster, and deletes the old one after the new one is complete."""
