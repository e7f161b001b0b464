"""Slurm's accounting outside a ParallelCluster."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from llm_fleet.catalog.slurm import slurm_database_facts
from llm_fleet.config.accounting import FLEET_DATABASE, MADE_BY_THE_FLEET, MADE_SECRET_ARN, read_word
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import SecretArn, SecurityGroupId


class SlurmAccountingConfig(FleetModel):
    """A MySQL-compatible database for slurmdbd on the head node, a slurmdbd elsewhere, or a munge key alone."""

    written_as: ClassVar[Mapping[str, str]] = {"database_uri": "endpoint", "slurmdbd_port": "port"}
    other_words: ClassVar[Mapping[str, str]] = {
        "Uri": "write `endpoint` and `port`",
        "UserName": "write `user`",
        "PasswordSecretArn": "write `secret`",
        "DatabaseName": "write `database`",
        "Host": "write `slurmdbd`",
        "MungeKeySecretArn": "write `munge_key`",
    }
    of_fleet: ClassVar[bool] = False
    """Whether it is the fleet's own database."""

    endpoint: str | None = Field(default=None, examples=["slurm.cluster-abc.us-west-2.rds.amazonaws.com"])
    """Host name of the database."""
    user_name: str = Field(default="slurm", alias="user")
    """Who slurmdbd signs in as. Default: `slurm`."""
    password_secret_arn: SecretArn | None = Field(default=None, alias="secret")
    """ARN of the Secrets Manager secret whose text is the password and nothing else."""
    database_name: str | None = Field(default=None, alias="database")
    """The schema. Default: one of the cluster's own, which no other cluster has."""
    slurmdbd_host: str | None = Field(default=None, alias="slurmdbd")
    """Host name of a slurmdbd that runs elsewhere, in place of a database."""
    munge_key_secret_arn: SecretArn | None = Field(default=None, alias="munge_key")
    """ARN of the secret with the munge key, in Base64, which the cluster shares with that slurmdbd. Without database or
    slurmdbd, Slurm keeps no accounts, and the key is one that machines of yours share. Default: the cluster's own."""
    port: int | None = None
    """Default: 3306 of a database, 6819 of a slurmdbd."""
    security_group_id: SecurityGroupId | None = Field(default=None, alias="security_group")
    """What guards the database or the slurmdbd; the head node is let in. Leave it out where the rule exists, because
    EC2 refuses a rule twice. Default: you have let it in yourself."""

    @property
    def database_uri(self) -> str | None:
        """Host and port of the database."""
        if self.endpoint is None:
            return None
        port = slurm_database_facts().port if self.port is None else self.port
        return f"{self.endpoint}:{port}"

    @property
    def slurmdbd_port(self) -> int | None:
        """The port, where it is slurmdbd's."""
        return None if self.slurmdbd_host is None else self.port


class FleetSlurmAccounting(SlurmAccountingConfig):
    """The fleet's own database: what a user writes as the word `slurm_database`. Its values are the stack's to know."""

    of_fleet = True

    @classmethod
    def read(cls, written: Any) -> Any:
        """Return the fleet's own database for its word, and anything else as it is."""
        own = cls.model_construct(endpoint=MADE_BY_THE_FLEET, user_name="slurm", password_secret_arn=MADE_SECRET_ARN)
        return read_word(written, own)


def or_fleet_database(schema: dict[str, Any]) -> None:
    """Tell an editor of the word for the fleet's own database."""
    schema["anyOf"] = [arm if arm.get("type") != "null" else {"const": FLEET_DATABASE} for arm in schema["anyOf"]]


AnySlurmAccounting = Annotated[SlurmAccountingConfig, BeforeValidator(FleetSlurmAccounting.read)]
"""Accounting of the user's, or the word for the fleet's own database."""
