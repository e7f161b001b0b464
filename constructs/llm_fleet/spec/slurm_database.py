"""A database for Slurm's accounting: one that a fleet makes, and where clusters of either kind keep it."""

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
    """Return the major version of `version`, e.g. `8.0`; `None` when it is none."""
    found = _VERSION.fullmatch(version)
    return found["major"] if found else None


class DatabaseEngine(StrEnum):
    """What slurmdbd can keep its records in, as RDS spells it."""

    AURORA_MYSQL = "aurora-mysql"
    """Aurora Serverless v2, MySQL 8.0: six copies in three AZs, capacity that follows the load."""
    MYSQL = "mysql"
    """One RDS instance with MySQL."""
    MARIADB = "mariadb"
    """One RDS instance with MariaDB."""


class SlurmDatabaseSpec(Spec):
    """A MySQL-compatible database in which clusters keep Slurm's accounting. It outlives them and its own stack.

    RDS's refusals have LF691 and LF697 to LF699.
    """

    other_words: ClassVar[Mapping[str, str]] = {
        "aurora": "write `engine: aurora-mysql`",
        "aurora-serverless": "write `engine: aurora-mysql`, which is serverless here",
        "password": "leave it out: it is made when the stack is deployed, and is in no file",
    }

    engine: Annotated[str, InFile(DatabaseEngine), InRequest("engine")] = DatabaseEngine.AURORA_MYSQL
    """`aurora-mysql` (Aurora Serverless v2), `mysql` or `mariadb` (an RDS instance). Default: `aurora-mysql`, because
    accounting is idle between jobs and busy when thousands end, which its capacity follows, and because it survives the
    loss of an AZ."""
    engine_version: Annotated[str | None, Field(alias="version")] = None
    """Its version, in quotes, e.g. `"8.0.mysql_aurora.3.10.4"` or `"11.4.10"`. Default: one with long-term support. RDS
    moves to later minor ones by itself, in the maintenance window."""
    parameter_group_family: Annotated[str | None, Field(alias="family")] = None
    """Parameter group family of a major version that llm-fleet does not know, e.g. `mysql9.7`. Default: that of the
    version."""
    min_capacity: float | None = None
    """Aurora capacity units, of about 2 GiB each, in steps of 0.5; 0 pauses while no cluster is up. Default: 0.5."""
    max_capacity: float | None = None
    """Aurora capacity units. Default: 4, as in AWS's own template for ParallelCluster."""
    instance_class: Annotated[str | None, Field(alias="instance")] = None
    """Instance class of `mysql` and `mariadb`. Default: `db.t4g.medium`, whose 4 GiB hold the 512 MiB of buffer pool
    below which slurmdbd complains."""
    storage_gib: Annotated[Gibibytes | None, Field(alias="size")] = None
    """Storage of `mysql` and `mariadb`, which grows to five times as much by itself. Default: `20 GiB`."""
    standby: bool = False
    """A second server in another AZ. Default: none: slurmctld keeps records back while slurmdbd has no database, and
    RDS starts a failed server anew."""
    user_name: Annotated[str, Field(alias="user"), InRequest("master_username")] = "slurm"
    """Who slurmdbd signs in as, the owner of this server; a change makes a new, empty database. Default: `slurm`."""
    port: Annotated[
        int, Within(limit=Limit(minimum=_LOW, maximum=_HIGH), code=Code.DATABASE_SETTING, what="the port")
    ] = slurm_database_facts().port
    """Default: 3306."""
    require_tls: bool = True
    """Refuse clients that do not encrypt. Default: yes, as in AWS's own template for ParallelCluster."""
    # Whether HyperPod's slurmdbd encrypts is nowhere documented: assumption: hyperpod-slurmdbd-connects-with-tls
    backup_retention_days: Annotated[Days, Field(alias="backups"), InRequest("backup_retention_period")] = 14
    """How long automatic backups are kept, at most `35 days`. Default: `14 days`, two working weeks in which a mistake
    is noticed."""
    backup_window: Annotated[str | None, InRequest("preferred_backup_window")] = None
    """When, as `HH:MM-HH:MM` in UTC. Default: RDS picks a time."""
    maintenance_window: Annotated[str | None, Field(alias="maintenance"), InRequest("preferred_maintenance_window")] = (
        None
    )
    """Weekly maintenance, as `sun:03:00-sun:04:00` in UTC. Default: RDS picks a time."""
    encryption_key: Annotated[Key | None, Field(alias="key")] = None
    """The KMS key that encrypts it and its secrets, by its ARN. Default: a key of its own; in Python, the account's
    `aws/rds` and `aws/secretsmanager`."""
    subnets: Several[OwnSubnet] = ()
    """Ids of existing subnets in two AZs or more. Default: two made for it, or those of an existing network."""

    @property
    def serverless(self) -> bool:
        """Whether its capacity follows the load."""
        return self.engine == DatabaseEngine.AURORA_MYSQL

    @property
    def effective_version(self) -> str:
        """The version to ask for."""
        return self.engine_version or slurm_database_facts().engines[self.engine].default

    @property
    def effective_family(self) -> str:
        """The parameter group family of that version; of the default one where only the deployment knows it."""
        facts = slurm_database_facts().engines[self.engine]
        known = facts.families.get(major_of(self.effective_version) or "")
        return self.parameter_group_family or known or facts.families[major_of(facts.default) or ""]

    @property
    def effective_capacity(self) -> tuple[float, float]:
        """Least and most capacity units."""
        least = 0.5 if self.min_capacity is None else self.min_capacity
        return least, max(4.0, least) if self.max_capacity is None else self.max_capacity


_PORT_REMEDY = f"write the port that the database listens on, mostly {hyperpod_facts().accounting_port}"


class AccountingDatabase(Spec):
    """A MySQL-compatible database for slurmdbd. It needs Continuous provisioning and can never be taken away again.

    HyperPod neither makes, sizes, patches nor backs it up; several clusters can share it.
    """

    written_as: ClassVar[Mapping[str, str]] = {"secret_arn": "secret"}

    endpoint: Annotated[str, Field(examples=["slurm.cluster-abc.us-west-2.rds.amazonaws.com"]), InRequest("endpoint")]
    """Host name of the database."""
    secret: Annotated[
        Secret,
        Field(examples=["arn:aws:secretsmanager:us-west-2:111122223333:secret:slurm-AbCdEf"]),
        InRequest("secretArn", SECRET.name_of),
    ]
    """ARN of the Secrets Manager secret with its user and password, which the nodes' role is allowed to read."""
    port: Annotated[
        int | None,
        Within(
            limit=cluster_limit("Orchestrator.Slurm.AccountingDatabase.Port"),
            code=Code.ACCOUNTING_DATABASE,
            what="the port",
            below=_PORT_REMEDY,
            above=_PORT_REMEDY,
        ),
        InRequest("port"),
    ] = None
    """Default: 3306."""
    database_name: Annotated[str | None, Field(alias="database")] = None
    """The schema. Default: one of this cluster's own, because Slurm refuses the records of another cluster's id, also
    those of a forerunner of the same name."""
    connections: Annotated[Guard | None, Field(alias="security_group")] = None
    """What guards the database; the nodes are let in. Leave it out where the rule exists, because EC2 refuses a rule
    twice. Default: you have let them in yourself. Where clusters of several stacks share a guard that is imported,
    import it once, in a stack that all of them stand on: its rules stand there."""
    servers: Annotated[Several[Any], Field(alias=f"{PYTHON_ONLY} servers")] = ()
    """What the cluster waits for besides `endpoint`. Default: nothing; the database is there."""

    @property
    def secret_arn(self) -> str:
        """The ARN of `secret`."""
        return SECRET.name_of(self.secret)

    @property
    def effective_port(self) -> int:
        """The port that the nodes connect to."""
        return hyperpod_facts().accounting_port if self.port is None else self.port


class Accounting(Spec):
    """A MySQL-compatible database for slurmdbd on the head node, a slurmdbd elsewhere, or a munge key alone.

    `SlurmDatabase.for_parallelcluster` makes one of a database.
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
    """Who slurmdbd signs in as. Default: `slurm`."""
    password_secret: Annotated[Secret | None, Field(alias="secret")] = None
    """ARN of the Secrets Manager secret whose text is the password and nothing else."""
    database_name: Annotated[str | None, Field(alias="database")] = None
    """The schema. Default: one of the cluster's own, which no other cluster has."""
    slurmdbd_host: Annotated[str | None, Field(alias="slurmdbd")] = None
    """Host name of a slurmdbd that runs elsewhere, in place of a database."""
    munge_key_secret: Annotated[Secret | None, Field(alias="munge_key")] = None
    """ARN of the secret with the munge key, in Base64, which the cluster shares with that slurmdbd. Without database or
    slurmdbd, Slurm keeps no accounts, and the key is one that machines of yours share. Default: the cluster's own."""
    port: int | None = None
    """Default: 3306 of a database, 6819 of a slurmdbd."""
    connections: Annotated[Guard | None, Field(alias="security_group")] = None
    """What guards the database or the slurmdbd; the head node is let in. Leave it out where the rule exists, because
    EC2 refuses a rule twice. Default: you have let it in yourself."""
    servers: Annotated[Several[Any], Field(alias=f"{PYTHON_ONLY} servers")] = ()
    """What the cluster waits for: ParallelCluster gives up on a database that does not answer within minutes. Default:
    nothing; the database is there."""

    @property
    def effective_port(self) -> int | None:
        """The port that the head node opens connections to; `None` of a munge key alone that names none."""
        facts = slurm_database_facts()
        default = facts.slurmdbd_port if self.slurmdbd_host is not None else facts.port
        return default if self.port is None and self.keeps_records else self.port

    @property
    def database_uri(self) -> str | None:
        """Host and port of the database."""
        return None if self.endpoint is None else f"{self.endpoint}:{self.effective_port}"

    @property
    def keeps_records(self) -> bool:
        """Whether Slurm keeps accounts: with a database or a slurmdbd elsewhere, not by a munge key alone."""
        return self.endpoint is not None or self.slurmdbd_host is not None

    @property
    def secrets(self) -> tuple[Any, ...]:
        """The secrets that it names."""
        return tuple(secret for secret in (self.password_secret, self.munge_key_secret) if secret is not None)
