"""Nodes that users log in to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aws_cdk import aws_ec2 as ec2

from llm_fleet.parallelcluster.dcv import Dcv


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginPool:
    """Like nodes behind a network load balancer that users log in to (`LoginNodes/Pools[]`).

    They spare the head node: a user's compiler that eats all memory there takes Slurm down. Nothing is checked here.
    """

    name: str
    """1 to 25 lower-case letters, digits and hyphens, a letter first."""
    instance_type: str
    """EC2's name."""
    count: int = 1
    """How many; 0 stops the pool, which most changes of it need."""
    subnet: ec2.ISubnet | ec2.Subnet | None = None
    """Where they stand. Default: as the head node."""
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    """Security groups beside ParallelCluster's own. Default: none."""
    gracetime_minutes: int | None = None
    """How long users are warned before a node ends, 3 to 120. Default of ParallelCluster: 10."""
    allowed_ips: str | None = None
    """Who may reach port 22, also that of their load balancer: a CIDR or the id of a prefix list. Default: nobody."""
    image_id: str | None = None
    """An image of your own. Default: the cluster's."""
    dcv: Dcv | None = None
    """A remote desktop. Default: none."""
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Keys of a pool that have no field here, in ParallelCluster's spelling.

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
