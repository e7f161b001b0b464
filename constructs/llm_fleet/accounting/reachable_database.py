"""What clusters need to know of a database for Slurm's accounting."""

from collections.abc import Sequence
from typing import Protocol

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import IDependable


class ReachableSlurmDatabase(Protocol):
    """A MySQL-compatible database that slurmdbd can sign in to, made here or elsewhere."""

    @property
    def endpoint(self) -> str:
        """Host name."""
        ...

    @property
    def port(self) -> int:
        """TCP port."""
        ...

    @property
    def user_name(self) -> str:
        """Who slurmdbd signs in as."""
        ...

    @property
    def password_secret(self) -> secretsmanager.ISecret | None:
        """A secret whose text is the password and nothing else, as ParallelCluster wants it; `None`: nobody told."""
        ...

    @property
    def credentials_secret(self) -> secretsmanager.ISecret | None:
        """A secret with JSON of `username` and `password`, as HyperPod wants it; `None`: nobody told."""
        ...

    @property
    def guard(self) -> ec2.IConnectable | None:
        """Its security groups, into which clusters are let; `None` when their nodes are let in already."""
        ...

    @property
    def servers(self) -> Sequence[IDependable]:
        """What must stand before slurmdbd signs in, besides what `endpoint` refers to."""
        ...
