"""What a stack can know of a HyperPod cluster, made here or elsewhere."""

from typing import Protocol

from aws_cdk import aws_ec2 as ec2

from llm_fleet.hyperpod.cluster_grants import ClusterGrants


class Cluster(Protocol):
    """A HyperPod cluster, made here or elsewhere."""

    @property
    def cluster_arn(self) -> str:
        """Its ARN; ends with the cluster id."""
        ...

    @property
    def cluster_id(self) -> str:
        """Twelve letters and digits, part of every SSM target and log group."""
        ...

    @property
    def grants(self) -> ClusterGrants:
        """What others may do with it."""
        ...

    @property
    def connections(self) -> ec2.Connections:
        """Its nodes' security groups. Raises `FleetError` (LF572) when it has none or nobody told them."""
        ...

    def ssm_target(self, group: str, instance_id: str = "<instance-id>") -> str:
        """Return the `--target` of `aws ssm start-session` for a node of `group`."""
        ...
