"""What a stack can know of a ParallelCluster, made here or elsewhere."""

from typing import Protocol

from aws_cdk import aws_ec2 as ec2

from llm_fleet.parallelcluster.cluster_grants import ClusterGrants


class Cluster(Protocol):
    """A ParallelCluster, made here or elsewhere."""

    @property
    def cluster_name(self) -> str:
        """Its name, which is also that of its own stack."""
        ...

    @property
    def grants(self) -> ClusterGrants:
        """What others may do with it."""
        ...

    @property
    def connections(self) -> ec2.Connections:
        """Its nodes' security groups. Raises `FleetError` (LF572) when nobody told them."""
        ...
