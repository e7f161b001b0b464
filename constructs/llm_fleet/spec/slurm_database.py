"""Databases for Slurm's accounting: the one that a fleet creates, and the settings of clusters that use one."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import Field

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.hyperpod import cluster_limit, hyperpod_facts
from llm_fleet.catalog.nodes import slurm_database_facts
from llm_fleet.rules.codes import Code
from llm_fleet.spec.references import SECRET, Guard, Key, OwnSubnet, Secret
from llm_fleet.spec.spec import PYTHON_ONLY, InRequest, Spec, Within
from llm_fleet.spec.values import Days, Gibibytes, InFile, Several

_LOW, _HIGH = slurm_database_facts().ports
_VERSION = re.compile(r"(?P<major>\d+\.\d+)(\.[A-Za-z0-9_.-]+)?")


def major_of(version: str) -> str | None:
    """Return the major version of `version`, e.g. `8.0`; `None` if it is not a version."""
    found = _VERSION.fullmatch(version)
    return found["major"] if found else None


class DatabaseEngine(StrEnum):
    """Database engine for slurmdbd; values of RDS."""

    AURORA_MYSQL = "aurora-mysql"
    """Aurora Serverless v2, MySQL 8.0: six copies in three AZs, capacity that follows the load."""
    MYSQL = "mysql"
    """One RDS instance with MySQL."""
    MARIADB = "mariadb"
    """One RDS instance with MariaDB."""


class SlurmDatabaseSpec(Spec):
    """A MySQL-compatible database for Slurm's accounting. It is kept when clusters or its own stack are deleted.

    Errors, as RDS would report them, have LF691 and LF697 to LF699.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "aurora": "write `engine: aurora-mysql`",
        "aurora-serverless": "write `engine: aurora-mysql`, which is serverless here",
        "password": "remove it: the password is generated at deployment, and is in no file",
    }

    engine: Annotated[str, InFile(DatabaseEngine), InRequest("engine")] = DatabaseEngine.AURORA_MYSQL
    """`aurora-mysql` (Aurora Serverless v2), `mysql` or `mariadb` (an RDS instance). Default: `aurora-mysql`: its
    capacity follows the load, because accounting is idle between jobs and busy when thousands end, and it survives the
    loss of an AZ."""
    engine_version: Annotated[str | None, Field(alias="version")] = None
    """Engine version, in quotes, e.g. `"8.0.mysql_aurora.3.10.4"` or `"11.4.10"`. Default: a version with long-term
    support. RDS upgrades to later minor versions automatically, in the maintenance window."""
    parameter_group_family: Annotated[str | None, Field(alias="family")] = None
    """Parameter group family of a major version that is not in the catalog, e.g. `mysql9.7`. Default: that of the
    version."""
    min_capacity: float | None = None
    """Minimum Aurora capacity units (about 2 GiB each), in steps of 0.5; 0 pauses the database while no cluster runs.
    Default: 0.5."""
    max_capacity: float | None = None
    """Maximum Aurora capacity units. Default: 4, as in AWS's own template for ParallelCluster."""
    instance_class: Annotated[str | None, Field(alias="instance")] = None
    """Instance class of `mysql` and `mariadb`. Default: `db.t4g.medium`: its 4 GiB are enough for a buffer pool of 512
    MiB, below which slurmdbd logs a warning."""
    storage_gib: Annotated[Gibibytes | None, Field(alias="size")] = None
    """Storage of `mysql` and `mariadb`, which RDS can increase up to fivefold automatically. Default: `20 GiB`."""
    standby: bool = False
    """Whether there is a standby server in another AZ. Default: no; slurmctld queues records while slurmdbd has no
    database, and RDS restarts a failed server."""
    user_name: Annotated[str, Field(alias="user"), InRequest("master_username")] = "slurm"
    """Database user of slurmdbd, the owner of this server; a change creates a new, empty database. Default: `slurm`."""
    port: Annotated[
        int, Within(limit=Limit(minimum=_LOW, maximum=_HIGH), code=Code.DATABASE_SETTING, what="`port`")
    ] = slurm_database_facts().port
    """Port of the database. Default: 3306."""
    require_tls: bool = True
    """Whether clients must use TLS. Default: yes, as in AWS's own template for ParallelCluster."""
    # AWS does not document whether HyperPod's slurmdbd uses TLS: assumption: hyperpod-slurmdbd-connects-with-tls
    backup_retention_days: Annotated[Days, Field(alias="backups"), InRequest("backup_retention_period")] = 14
    """Retention of automatic backups, at most `35 days`. Default: `14 days`, two working weeks to notice a mistake."""
    backup_window: Annotated[str | None, InRequest("preferred_backup_window")] = None
    """Time of the backup, as `HH:MM-HH:MM` in UTC. Default: RDS chooses a time."""
    maintenance_window: Annotated[str | None, Field(alias="maintenance"), InRequest("preferred_maintenance_window")] = (
        None
    )
    """Weekly maintenance, as `sun:03:00-sun:04:00` in UTC. Default: RDS chooses a time."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """KMS key that encrypts the database and its secrets, by ARN. Default: the fleet's own key; in Python, the
    account's `aws/rds` and `aws/secretsmanager`."""
    subnets: Several[OwnSubnet] = ()
    """Ids of existing subnets in at least two AZs. Default: two that are created for it, or those of an existing
    network."""

    @property
    def serverless(self) -> bool:
        """Whether its capacity follows the load."""
        return self.engine == DatabaseEngine.AURORA_MYSQL

    @property
    def effective_version(self) -> str:
        """Engine version, with its default."""
        return self.engine_version or slurm_database_facts().engines[self.engine].default

    @property
    def effective_family(self) -> str:
        """Parameter group family of that version; of the default version if the version is a CDK token."""
        facts = slurm_database_facts().engines[self.engine]
        known = facts.families.get(major_of(self.effective_version) or "")
        return self.parameter_group_family or known or facts.families[major_of(facts.default) or ""]

    @property
    def effective_capacity(self) -> tuple[float, float]:
        """Minimum and maximum capacity units."""
        least = 0.5 if self.min_capacity is None else self.min_capacity
        return least, max(4.0, least) if self.max_capacity is None else self.max_capacity


_PORT_REMEDY = f"write the port of the database, usually {hyperpod_facts().accounting_port}"


class AccountingDatabase(Spec):
    """A MySQL-compatible database for slurmdbd. It requires Continuous provisioning and can never be removed.

    HyperPod does not create, size, patch or back up the database; several clusters can share it.
    """

    written_as: ClassVar[Mapping[str, str]] = {"secret_arn": "secret"}

    endpoint: Annotated[str, Field(examples=["slurm.cluster-abc.us-west-2.rds.amazonaws.com"]), InRequest("endpoint")]
    """Host name of the database."""
    secret: Annotated[
        Secret,
        Field(examples=["arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"]),
        InRequest("secretArn", SECRET.name_of),
    ]
    """ARN of the Secrets Manager secret with user name and password, which the nodes' role is allowed to read."""
    port: Annotated[
        int | None,
        Within(
            limit=cluster_limit("Orchestrator.Slurm.AccountingDatabase.Port"),
            code=Code.ACCOUNTING_DATABASE,
            what="`port`",
            below=_PORT_REMEDY,
            above=_PORT_REMEDY,
        ),
        InRequest("port"),
    ] = None
    """Port of the database. Default: 3306."""
    database_name: Annotated[str | None, Field(alias="database")] = None
    """Database name (schema). Default: a name that only this cluster uses, because Slurm rejects records with another
    cluster's id, including an earlier cluster with the same name."""
    connections: Annotated[Guard | None, Field(alias="security_group")] = None
    """Security group of the database, or in Python the database; a rule for the nodes is added to it. Leave it out if
    the rule exists, because EC2 rejects duplicate rules. If clusters in several stacks share an imported security
    group, import it once, in a stack that all of them depend on; the rules are added there. Default: no rule is added;
    you have allowed the connections yourself."""
    servers: Annotated[Several[Any], Field(alias=f"{PYTHON_ONLY} servers")] = ()
    """Constructs that the cluster depends on besides `endpoint`. Default: none; the database exists."""

    @property
    def secret_arn(self) -> str:
        """The ARN of `secret`."""
        return SECRET.name_of(self.secret)

    @property
    def effective_port(self) -> int:
        """Port that the nodes connect to."""
        return hyperpod_facts().accounting_port if self.port is None else self.port


class Accounting(Spec):
    """A MySQL-compatible database for slurmdbd on the head node, an external slurmdbd, or only a munge key.

    `SlurmDatabase.for_parallelcluster` creates one for a database.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "Uri": "write `endpoint` and `port`",
        "UserName": "write `user`",
        "PasswordSecretArn": "write `secret`",
        "DatabaseName": "write `database`",
        "Host": "write `slurmdbd`",
        "MungeKeySecretArn": "write `munge_key`",
    }

    endpoint: Annotated[str | None, Field(examples=["slurm.cluster-abc.us-west-2.rds.amazonaws.com"])] = None
    """Host name of the database."""
    user_name: Annotated[str, Field(alias="user")] = "slurm"
    """Database user of slurmdbd. Default: `slurm`."""
    password_secret: Annotated[Secret | None, Field(alias="secret")] = None
    """ARN of the Secrets Manager secret whose whole value is the password."""
    database_name: Annotated[str | None, Field(alias="database")] = None
    """Database name (schema). Default: a name that only this cluster uses."""
    slurmdbd_host: Annotated[str | None, Field(alias="slurmdbd")] = None
    """Host name of an external slurmdbd, instead of a database."""
    munge_key_secret: Annotated[Secret | None, Field(alias="munge_key")] = None
    """ARN of the secret with the munge key, in Base64, which the cluster shares with an external slurmdbd. Without a
    database or slurmdbd, Slurm has no accounting, and the key is shared with other machines of yours. Default: the
    cluster's own key."""
    port: int | None = None
    """Port. Default: 3306 for a database, 6819 for a slurmdbd."""
    connections: Annotated[Guard | None, Field(alias="security_group")] = None
    """Security group of the database or slurmdbd, or in Python the database; a rule for the head node is added to it.
    Leave it out if the rule exists, because EC2 rejects duplicate rules. Default: no rule is added; you have allowed
    the connections yourself."""
    servers: Annotated[Several[Any], Field(alias=f"{PYTHON_ONLY} servers")] = ()
    """Constructs that the cluster depends on, because ParallelCluster fails if the database does not answer within
    minutes. Default: none; the database exists."""

    @property
    def effective_port(self) -> int | None:
        """Port that the head node connects to; `None` for a munge key alone without a port."""
        facts = slurm_database_facts()
        default = facts.slurmdbd_port if self.slurmdbd_host is not None else facts.port
        return default if self.port is None and self.keeps_records else self.port

    @property
    def database_uri(self) -> str | None:
        """Host and port of the database."""
        return None if self.endpoint is None else f"{self.endpoint}:{self.effective_port}"

    @property
    def keeps_records(self) -> bool:
        """Whether Slurm has accounting: with a database or an external slurmdbd, not with only a munge key."""
        return self.endpoint is not None or self.slurmdbd_host is not None

    @property
    def secrets(self) -> tuple[Any, ...]:
        """The secrets that it references."""
        return tuple(secret for secret in (self.password_secret, self.munge_key_secret) if secret is not None)
