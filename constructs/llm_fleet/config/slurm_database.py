"""The database of a fleet for Slurm's accounting."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.rules.slurm_database import DatabaseEngine, SlurmDatabaseSettings
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Days, Gibibytes, KeyArn, SubnetId

_DEFAULTS = SlurmDatabaseSettings()


class SlurmDatabaseConfig(FleetModel):
    """A MySQL-compatible database in which clusters keep Slurm's accounting. It outlives them and its own stack."""

    other_words: ClassVar[Mapping[str, str]] = {
        "aurora": "write `engine: aurora-mysql`",
        "aurora-serverless": "write `engine: aurora-mysql`, which is serverless here",
        "password": "leave it out: it is made when the stack is deployed, and is in no file",
    }

    engine: DatabaseEngine = DatabaseEngine.AURORA_MYSQL
    """`aurora-mysql` (Aurora Serverless v2), `mysql` or `mariadb` (an RDS instance). Default: `aurora-mysql`."""
    engine_version: str | None = Field(default=None, alias="version")
    """Its version, in quotes. Default: one with long-term support."""
    parameter_group_family: str | None = Field(default=None, alias="family")
    """Parameter group family of a version that llm-fleet does not know. Default: that of the version."""
    min_capacity: float | None = None
    """Aurora capacity units, of about 2 GiB each; 0 pauses while no cluster is up. Default: 0.5."""
    max_capacity: float | None = None
    """Aurora capacity units. Default: 4."""
    instance_class: str | None = Field(default=None, alias="instance")
    """Instance class of `mysql` and `mariadb`. Default: `db.t4g.medium`."""
    storage_gib: Gibibytes | None = Field(default=None, alias="size")
    """Storage of `mysql` and `mariadb`, which grows to five times as much by itself. Default: `20 GiB`."""
    standby: bool = False
    """A second server in another AZ. Default: none; RDS starts a failed one anew."""
    user_name: str = Field(default=_DEFAULTS.user_name, alias="user")
    """Who slurmdbd signs in as; a change makes a new, empty database. Default: `slurm`."""
    port: int = _DEFAULTS.port
    """Default: 3306."""
    require_tls: bool = True
    """Refuse clients that do not encrypt. Default: yes."""
    backup_retention_days: Days = Field(default=_DEFAULTS.backup_retention_days, alias="backups")
    """How long automatic backups are kept, at most `35 days`. Default: `14 days`."""
    backup_window: str | None = None
    """When, as `HH:MM-HH:MM` in UTC. Default: RDS picks a time."""
    maintenance_window: str | None = Field(default=None, alias="maintenance")
    """Weekly maintenance, as `sun:03:00-sun:04:00` in UTC. Default: RDS picks a time."""
    kms_key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key that encrypts it and its secrets. Default: a key of its own."""
    subnets: tuple[SubnetId, ...] = ()
    """Ids of existing subnets in two AZs or more. Default: two made for it, or those of an existing network."""

    @property
    def settings(self) -> SlurmDatabaseSettings:
        """What the rule and the construct judge."""
        return SlurmDatabaseSettings(
            engine=self.engine,
            engine_version=self.engine_version,
            parameter_group_family=self.parameter_group_family,
            min_capacity=self.min_capacity,
            max_capacity=self.max_capacity,
            instance_class=self.instance_class,
            storage_gib=self.storage_gib,
            standby=self.standby,
            user_name=self.user_name,
            port=self.port,
            backup_retention_days=self.backup_retention_days,
            backup_window=self.backup_window,
            maintenance_window=self.maintenance_window,
        )
