"""The stack of a fleet's database for Slurm's accounting. It outlives the clusters, and the database outlives it."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.accounting.slurm_database import SlurmDatabase
from llm_fleet.fleet_file.network import NetworkConfig
from llm_fleet.network.network import Network
from llm_fleet.references import key_of
from llm_fleet.spec.slurm_database import SlurmDatabaseSpec
from llm_fleet.storage.buckets import FleetKey
from llm_fleet_stacks.fleet_stack import FleetStack
from llm_fleet_stacks.network_stack import network_for


class DatabaseStack(FleetStack):
    """A database for Slurm's accounting, and the key that encrypts it and its secrets.

    The key is not that of the storage: controllers use it to read their password, and need not read data with it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        config: SlurmDatabaseSpec,
        network: Network | NetworkConfig,
        env: cdk.Environment | None = None,
        tags: Mapping[str, str] | None = None,
        termination_protection: bool = True,
    ) -> None:
        """Make the database that `config` describes.

        `network`: one that another stack has made, or the description of an existing one. `env`: default, the one that
        the CDK CLI is called with. `tags`: default, none.
        `termination_protection`: whether CloudFormation refuses to delete the stack. Default: it refuses.
        """
        super().__init__(
            scope,
            id,
            description="Slurm accounting database of an LLM fleet",
            env=env,
            tags=tags,
            termination_protection=termination_protection,
        )
        here = network_for(self, network)
        if here is None:
            raise TypeError("a database stands in a network; the fleet file has been refused without one")
        self.key = key_of(self, "Key", config.encryption_key) or FleetKey(
            self, "Key", description="Encrypts the Slurm accounting of an LLM fleet"
        )
        """Encrypts the database and its secrets."""
        self.database = SlurmDatabase(
            self,
            "Database",
            config.model_copy(update={"encryption_key": self.key}),
            network=here,
        )
        """The database, for the clusters that use it."""
        cdk.CfnOutput(
            self,
            "DatabaseEndpoint",
            value=self.database.endpoint,
            description="Host name of Slurm's accounting database",
        )
        cdk.CfnOutput(
            self,
            "CredentialsSecret",
            value=self.database.credentials_secret.secret_arn,
            description="ARN of the secret with its user name and password",
        )

    def offer_values(self) -> None:
        """Export what other stacks may take; see `FleetStack.offer`."""
        database = self.database
        self.offer(self.key.key_arn, database.endpoint, database.resource.ref)
        self.offer(database.credentials_secret.secret_arn, database.password_secret.secret_arn)
        self.offer(database.security_group.security_group_id)
