"""The root volume of a node."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RootVolume:
    """The EBS volume that a node boots from (`LocalStorage/RootVolume`).

    The head node's cannot be changed later, and /opt/slurm and /home lie on it unless they lie elsewhere: give it room.
    """

    size_gib: int | None = None
    """`Size`. Default: as large as the image, which leaves little room for more."""
    volume_type: str | None = None
    """`VolumeType`. Default of ParallelCluster: `gp3`."""
    iops: int | None = None
    """`Iops`, for io1, io2 and gp3. Default: the volume type's."""
    throughput_mib_s: int | None = None
    """`Throughput`, for gp3. Default: 125 MiB/s."""
    encrypted: bool | None = None
    """`Encrypted`. Default of ParallelCluster: encrypted. All queues must say the same."""
