"""An external database for Slurm's accounting."""

from pydantic import Field

from llm_fleet.config.model import FleetModel
from llm_fleet.config.values import SecretArn, SecurityGroupId


class AccountingConfig(FleetModel):
    """A MySQL-compatible database for slurmdbd. It needs Continuous provisioning and can never be taken away again."""

    endpoint: str = Field(examples=["slurm.cluster-abc.us-west-2.rds.amazonaws.com"])
    """Host name of the database."""
    secret_arn: SecretArn = Field(
        alias="secret", examples=["arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"]
    )
    """ARN of the Secrets Manager secret with its user and password."""
    port: int | None = None
    """Default: 3306."""
    database_name: str | None = Field(default=None, alias="database")
    """The schema. Default: one named after the cluster's id, which keeps two clusters apart."""
    security_group_id: SecurityGroupId | None = Field(default=None, alias="security_group")
    """What guards the database; the nodes are let in. Default: you have let them in yourself."""
