"""The secrets of a database for accounting: one password in two forms."""

import json
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.slurm import slurm_database_facts
from llm_fleet.held import hold

_NOT_ROTATED = (
    "slurmdbd reads its password when it starts, and each service brings a new one to it in a way of its own: a "
    "rotation by itself would end the accounting of every cluster. How to change it is in docs/constructs/accounting.md"
)


class DatabaseSecrets(Construct):
    """A generated password, beside its user name as JSON, and by itself.

    HyperPod reads JSON of `username` and `password`, ParallelCluster a text that is the password. The password is made
    by Secrets Manager when the stack is deployed, and reaches the second secret and the database by a dynamic
    reference: it is in no template. Letters and digits only, as slurmdbd.conf ends a value at `#` and blanks, and RDS
    refuses `/`, `"` and `@`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        user_name: str,
        encryption_key: kms.IKey | None,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        """Make both secrets. `encryption_key`: `None` is the key `aws/secretsmanager` of the account."""
        super().__init__(scope, id)
        owner = f"Slurm accounting database {scope.node.id}"
        credentials = secretsmanager.Secret(
            self,
            "Credentials",
            description=f"{owner}: user name and password, for HyperPod",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                secret_string_template=json.dumps({"username": user_name}),
                generate_string_key="password",
                exclude_punctuation=True,
                password_length=slurm_database_facts().password_length,
            ),
            encryption_key=encryption_key,
            removal_policy=removal_policy,
        )
        hold(credentials)
        self.master_password: str = credentials.secret_value_from_json("password").unsafe_unwrap()
        """A dynamic reference."""
        password = secretsmanager.Secret(
            self,
            "Password",
            description=f"{owner}: the password alone, for ParallelCluster",
            secret_string_value=credentials.secret_value_from_json("password"),
            encryption_key=encryption_key,
            removal_policy=removal_policy,
        )
        hold(password)
        self.credentials = cast(secretsmanager.ISecret, credentials)
        """JSON of `username` and `password`."""
        self.password = cast(secretsmanager.ISecret, password)
        """The password and nothing else."""
        for secret in (credentials, password):
            acknowledge(secret, _NOT_ROTATED, "AwsSolutions-SMG4", "NIST.800.53.R5-SecretsManagerRotationEnabled")
