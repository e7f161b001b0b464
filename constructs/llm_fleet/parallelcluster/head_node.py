"""The head node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aws_cdk import aws_ec2 as ec2

from llm_fleet.parallelcluster.dcv import Dcv
from llm_fleet.parallelcluster.root_volume import RootVolume
from llm_fleet.rules.parallelcluster.terms import InternalStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadNode:
    """The node that runs Slurm's controller (`HeadNode`).

    Next to nothing of it can be changed later; a cluster with another head node is another cluster. Nothing is checked
    here: the cluster checks all its parts together and tells every problem at once.
    """

    instance_type: str
    """EC2's name, e.g. `m5.2xlarge`; of the same architecture as every queue, and with memory for all nodes."""
    subnet: ec2.ISubnet | ec2.Subnet | None = None
    """Where it stands. Default: the network's private subnet in the cluster's AZ."""
    elastic_ip: bool | str = False
    """Whether it has a public address, or the allocation id of one. Default: none; SSM reaches it without."""
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    """Security groups beside ParallelCluster's own (`AdditionalSecurityGroups`). Default: none."""
    key_name: str | None = None
    """Key pair of the default user. Default: none; SSM's sessions need none."""
    allowed_ips: str | None = None
    """Who may reach port 22, a CIDR or the id of a prefix list. Default: nobody but the cluster's own nodes; SSM's
    sessions need no port. ParallelCluster's own default is the whole internet."""
    root_volume: RootVolume | None = None
    """What it boots from. Default: gp3 of the image's size, encrypted."""
    scratch_mount_dir: str | None = None
    """Where its local disks are mounted, if it has any. Default of ParallelCluster: /scratch."""
    disable_simultaneous_multithreading: bool = False
    """Whether hyper-threading is off."""
    internal_storage: InternalStorage = InternalStorage.EBS
    """Where /opt/slurm and a /home of its own lie. EFS outlives a broken head node, but small files are slower."""
    image_id: str | None = None
    """An image of your own, made from ParallelCluster's of exactly this version. Default: the cluster's."""
    imds_secured: bool = True
    """Whether only root and administrators reach its instance metadata, and with it the head node's rights."""
    dcv: Dcv | None = None
    """A remote desktop. Default: none."""
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Keys of `HeadNode` without a field here, in ParallelCluster's spelling, e.g. `{"Networking": {"Proxy": …}}`.

    With `Iam/InstanceRole` or `Iam/InstanceProfile` the cluster's policies are not attached: that role must hold them.
    """

    @property
    def subnet_id(self) -> str | None:
        """The id of `subnet`."""
        return None if self.subnet is None else self.subnet.subnet_id

    @property
    def security_group_ids(self) -> Sequence[str]:
        """The ids of `security_groups`."""
        return tuple(group.security_group_id for group in self.security_groups)
