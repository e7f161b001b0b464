"""The head node of a ParallelCluster."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from llm_fleet.config.parallelcluster.dcv import DcvConfig
from llm_fleet.config.parallelcluster.instances import Ec2Type
from llm_fleet.config.parallelcluster.other_words import OF_HEAD
from llm_fleet.config.parallelcluster.root_volume import RootVolumeConfig, or_size
from llm_fleet.config.parallelcluster.values import PublicAddress
from llm_fleet.rules.parallelcluster.terms import InternalStorage
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import SecurityGroupId


class HeadNodeConfig(FleetModel):
    """The head node, which runs Slurm's daemons. Most of it cannot change once the cluster is there."""

    written_as: ClassVar[Mapping[str, str]] = {"disable_simultaneous_multithreading": "hyperthreading"}
    other_words: ClassVar[Mapping[str, str]] = OF_HEAD

    instance_type: Ec2Type = Field(alias="type", examples=["c5.4xlarge"])
    """The instance type, as EC2 has it, e.g. `c5.4xlarge`. Its processor is of the kind that all queues have."""
    root_volume: RootVolumeConfig | None = Field(default=None, json_schema_extra=or_size)
    """Its root volume, where homes are unless the fleet has a `home`. Default: ParallelCluster's, encrypted."""
    scratch_mount_dir: str | None = Field(default=None, alias="scratch")
    """Where it mounts its local disks, if it has any. Default: `/scratch`."""
    subnet_id: str | None = Field(default=None, alias="subnet")
    """A subnet of its own, by id. Default: the compute subnet of the cluster's AZ."""
    elastic_ip: PublicAddress = False
    """Whether it has a public address, or the id of one. Default: no; people come by Session Manager."""
    security_group_ids: tuple[SecurityGroupId, ...] = Field(default=(), alias="security_groups")
    """Further security groups, by id. Default: none."""
    key_name: str | None = Field(default=None, alias="key")
    """Name of the EC2 key pair of the image's user. Default: none; people come by Session Manager."""
    allowed_ips: str | None = Field(default=None, alias="allowed_from")
    """From where SSH may reach it: a CIDR block, or a prefix list by id. Default: from nowhere; SSM needs no port."""
    hyperthreading: bool = True
    """Whether it has two threads for each core, where the processor has them. Default: yes."""
    internal_storage: InternalStorage = InternalStorage.EBS
    """Where ParallelCluster keeps its own shared folders: `Ebs`, or `Efs`, which outlives a lost head node.

    Default: `Ebs`."""
    image_id: str | None = Field(default=None, alias="image")
    """An image of its own, `ami-…`. Default: the cluster's."""
    imds_secured: bool = True
    """Whether only root and administrators reach the instance metadata, and so its credentials. Default: yes."""
    dcv: DcvConfig | None = None
    """A remote desktop. Default: none."""
    overrides: Mapping[str, Any] = {}
    """Keys that have no word here, in ParallelCluster's own spelling. Default: none."""

    @property
    def disable_simultaneous_multithreading(self) -> bool:
        """`hyperthreading`, the other way round."""
        return not self.hyperthreading
