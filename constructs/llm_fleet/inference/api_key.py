"""The API key of a service."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.service import front_facts

_NOT_ROTATED = (
    "servers read their key when they start, and clients hold it: a rotation by itself would shut every client out "
    "until it is told. How to change the key is in docs/constructs/inference-front.md"
)
_NO_KEY = "Secrets Manager encrypts with the account's key aws/secretsmanager; `encryption_key` takes another"


class ApiKey(Construct):
    """A key made by Secrets Manager when the stack is deployed; it is in no template.

    Lower-case letters and digits, 64 of them: Text Generation Inference compares keys without regard to case
    (router/src/server.rs), so that capitals would be strength that is not there.

    It goes with the stack: a key of a service that is gone opens nothing. One that must outlive its service, because
    clients hold it, is a secret of your own.
    """

    def __init__(self, scope: Construct, id: str, *, service_name: str, encryption_key: kms.IKey | None) -> None:
        """Make it. `encryption_key`: `None` is the key `aws/secretsmanager` of the account."""
        super().__init__(scope, id)
        secret = secretsmanager.Secret(
            self,
            "Resource",
            description=f"API key of the inference service {service_name}",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                exclude_punctuation=True,
                exclude_uppercase=True,
                password_length=front_facts().api_key_characters,
            ),
            encryption_key=encryption_key,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(secret, _NOT_ROTATED, "AwsSolutions-SMG4", "NIST.800.53.R5-SecretsManagerRotationEnabled")
        if encryption_key is None:
            acknowledge(secret, _NO_KEY, "NIST.800.53.R5-SecretsManagerUsingKMSKey")
        self.secret = cast(secretsmanager.ISecret, secret)
        """Its text is the key and nothing else."""
