"""A database for accounting that exists already."""

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import IDependable

from llm_fleet.accounting.accounting_database import AccountingDatabase
from llm_fleet.accounting.for_hyperpod import for_hyperpod


class ImportedSlurmDatabase:
    """What `SlurmDatabase.from_attributes` returns: as much of a database as was told. Nothing is looked up or made."""

    def __init__(
        self,
        *,
        endpoint: str,
        port: int,
        user_name: str,
        password_secret: secretsmanager.ISecret | None,
        credentials_secret: secretsmanager.ISecret | None,
        guard: ec2.IConnectable | None,
    ) -> None:
        """Take what is known."""
        self.endpoint = endpoint
        self.port = port
        self.user_name = user_name
        self.password_secret = password_secret
        self.credentials_secret = credentials_secret
        self.guard = guard
        self.servers: Sequence[IDependable] = ()

    def for_hyperpod(self, *, database_name: str | None = None) -> AccountingDatabase:
        """Return it as a HyperPod cluster takes it; raise `FleetError` (LF693) without `credentials_secret`."""
        return for_hyperpod(self, database_name=database_name)
