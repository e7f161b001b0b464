"""The closed vocabularies of ParallelCluster's configuration, spelt as its schema spells them."""

from enum import StrEnum


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
