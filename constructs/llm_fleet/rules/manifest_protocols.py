"""What the rules ask of a node manifest: read-only attributes, all plain values."""

from collections.abc import Sequence
from typing import Literal, Protocol

from llm_fleet.rules.node_protocols import OwnStepLike, S3MountLike, UserLike
from llm_fleet.rules.terms import LifecycleHook, NodePlatform, NodeType, ParallelClusterHook


class ManifestGroupLike(Protocol):
    """A group, as its nodes need to know it."""

    @property
    def name(self) -> str:
        """`InstanceGroupName`."""
        ...

    @property
    def role(self) -> NodeType:
        """What its nodes do in Slurm."""
        ...

    @property
    def instance_types(self) -> Sequence[str]:
        """The names of instance types that it may be made of."""
        ...

    @property
    def hook(self) -> LifecycleHook | ParallelClusterHook | None:
        """When its nodes run the bundle; `None` for never."""
        ...


class ManifestMountLike(Protocol):
    """A file system, as the nodes need to know it."""

    @property
    def kind(self) -> Literal["lustre", "open_zfs"]:
        """Which of the two file systems it is."""
        ...

    @property
    def mount_path(self) -> str:
        """Absolute path on the node."""
        ...

    @property
    def mount_name(self) -> str | None:
        """Lustre's generated name."""
        ...

    @property
    def groups(self) -> Sequence[str] | None:
        """Names of the groups that mount it; `None` for all."""
        ...


class ManifestNeuronLike(Protocol):
    """The Neuron SDK of the hosts."""

    @property
    def release(self) -> str:
        """E.g. `2.28.1`."""
        ...


class ManifestLike(Protocol):
    """What the nodes are told of their fleet."""

    @property
    def groups(self) -> Sequence[ManifestGroupLike]:
        """All instance groups."""
        ...

    @property
    def platform(self) -> NodePlatform:
        """Who starts the nodes."""
        ...

    @property
    def mounts(self) -> Sequence[ManifestMountLike]:
        """All file systems."""
        ...

    @property
    def s3_mounts(self) -> Sequence[S3MountLike]:
        """Buckets shown as folders."""
        ...

    @property
    def users(self) -> Sequence[UserLike]:
        """Users of the nodes."""
        ...

    @property
    def neuron(self) -> ManifestNeuronLike | None:
        """The Neuron SDK of the hosts, where it is said."""
        ...

    @property
    def skip_steps(self) -> Sequence[str]:
        """Steps that no node takes."""
        ...

    @property
    def own_steps(self) -> Sequence[OwnStepLike]:
        """Steps of the user's own."""
        ...
