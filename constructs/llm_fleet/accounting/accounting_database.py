"""A database of the user's own for Slurm's accounting."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import IDependable


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingDatabase:
    """A MySQL-compatible database for slurmdbd (`Orchestrator.Slurm.AccountingDatabase`).

    HyperPod neither makes, sizes, patches nor backs it up; several clusters can share it. It needs Continuous
    provisioning, and a cluster that has one can never be without again.
    """

    endpoint: str
    """Host name, e.g. that of an Aurora cluster's writer."""
    secret: secretsmanager.ISecret | secretsmanager.Secret
    """User and password. The nodes' role is allowed to read it."""
    port: int | None = None
    """Default: 3306."""
    database_name: str | None = None
    """The schema. Default: one of this cluster's own, so that a cluster made anew does not meet its forerunner's
    records (Slurm refuses another cluster's id)."""
    connections: ec2.IConnectable | None = None
    """What guards the database; the cluster's nodes are let in. Default: you let them in.

    The rules of an imported guard stand in the stack that imports it. Where clusters of several stacks share a guard,
    import it once, in a stack that all of them stand on, and give each cluster that object: EC2 refuses a rule that
    exists.
    """

    servers: Sequence[IDependable] = ()
    """What the cluster waits for besides `endpoint`. Default: nothing; the database is there."""

    @property
    def secret_arn(self) -> str:
        """The ARN of `secret`."""
        return self.secret.secret_arn
