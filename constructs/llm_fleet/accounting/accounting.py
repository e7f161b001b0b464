"""Slurm's accounting of clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct, IDependable

from llm_fleet.accounting.accounting_database import ReachableSlurmDatabase, let_in
from llm_fleet.accounting.database_server import parallelcluster_schema
from llm_fleet.catalog.hyperpod import hyperpod_facts
from llm_fleet.catalog.slurm import slurm_database_facts
from llm_fleet.rules.accounting import check_has_credentials_secret, check_has_password_secret
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.slurm_database import AccountingDatabase


def for_hyperpod(database: ReachableSlurmDatabase, *, database_name: str | None) -> AccountingDatabase:
    """Return `database` as a HyperPod cluster takes it; raise `FleetError` (LF693) without its JSON secret."""
    secret = database.credentials_secret
    raise_problems(check_has_credentials_secret(told=secret is not None), subject="AccountingDatabase")
    assert secret is not None
    return AccountingDatabase(
        endpoint=database.endpoint,
        secret=secret,
        port=None if database.port == hyperpod_facts().accounting_port else database.port,
        database_name=database_name,
        connections=database.guard,
        servers=database.servers,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """Slurm's accounting outside a ParallelCluster. Make one with `database` or `slurmdbd`.

    With `munge_key_secret` alone the cluster has a munge key of yours, and keeps no accounts.

    It has the shape that the rules judge (`AccountingLike`). The cluster names the schema, opens the port and lets
    what reads a secret read it.
    """

    database_uri: str | None = None
    """`Database/Uri`, host and port; `None` with `slurmdbd_host`."""
    user_name: str | None = None
    """`Database/UserName`."""
    password_secret: secretsmanager.ISecret | None = None
    """`Database/PasswordSecretArn`: its text is the password and nothing else."""
    database_name: str | None = None
    """`Database/DatabaseName`, the schema. Default: one of the cluster's own; see `for_cluster`."""
    slurmdbd_host: str | None = None
    """`ExternalSlurmdbd/Host`."""
    slurmdbd_port: int | None = None
    """`ExternalSlurmdbd/Port`."""
    munge_key_secret: secretsmanager.ISecret | None = None
    """`MungeKeySecretArn`: the key in Base64, which the cluster shares with a slurmdbd or with machines of yours."""
    guard: ec2.IConnectable | None = None
    """What lets the cluster in to `port`; `None` when it is let in already."""
    port: int | None = None
    """The port that the head node opens connections to."""
    servers: Sequence[IDependable] = ()
    """What the cluster waits for: ParallelCluster gives up on a database that does not answer within minutes."""

    @classmethod
    def database(cls, database: ReachableSlurmDatabase, *, database_name: str | None = None) -> "Accounting":
        """Run slurmdbd on the head node, on `database`: a `SlurmDatabase`, or one of its `from_attributes`.

        `database_name`: the schema, of lower-case letters, digits and underscores. Default: one that no other cluster
        has, nor this one after it is made anew, because slurmdbd refuses the records of another cluster's id.

        Raises `FleetError` (LF693) for an existing database whose secret with the password alone was not told.
        """
        raise_problems(check_has_password_secret(told=database.password_secret is not None), subject="Accounting")
        return cls(
            database_uri=f"{database.endpoint}:{database.port}",
            user_name=database.user_name,
            password_secret=database.password_secret,
            database_name=database_name,
            guard=database.guard,
            port=database.port,
            servers=database.servers,
        )

    @classmethod
    def slurmdbd(
        cls,
        host: str,
        *,
        munge_key_secret: secretsmanager.ISecret | secretsmanager.Secret | None,
        port: int | None = None,
        connections: ec2.IConnectable | None = None,
    ) -> "Accounting":
        """Use a slurmdbd that runs elsewhere, as several clusters that share one database should.

        - `host`: its host name or address.
        - `munge_key_secret`: the munge key of that slurmdbd in Base64; it is no optional key of ParallelCluster's.
        - `port`: default, 6819.
        - `connections`: what guards it; the head node is let in. Default: you let it in.

        What passes between cluster and slurmdbd is authenticated, not encrypted: keep both in one private network.
        """
        return cls(
            slurmdbd_host=host,
            slurmdbd_port=port,
            munge_key_secret=munge_key_secret,  # pyright: ignore[reportArgumentType]
            guard=connections,
            port=port or slurm_database_facts().slurmdbd_port,
        )

    @property
    def password_secret_arn(self) -> str | None:
        """The ARN of `password_secret`."""
        return self.password_secret.secret_arn if self.password_secret else None

    @property
    def munge_key_secret_arn(self) -> str | None:
        """The ARN of `munge_key_secret`."""
        return self.munge_key_secret.secret_arn if self.munge_key_secret else None

    def for_cluster(self, scope: Construct, *, cluster_name: str) -> "Accounting":
        """Return the same with its schema named for the cluster at `scope`; `cluster_name` is the one with the hash."""
        if self.database_uri is None or self.database_name is not None:
            return self
        return replace(self, database_name=parallelcluster_schema(scope, cluster_name))

    def open_ports(self, scope: Construct, security_groups: Sequence[ec2.ISecurityGroup]) -> list[Construct]:
        """Let the head node of the cluster at `scope`, a member of `security_groups`, in, and return the rules.

        The cluster must depend on them: slurmdbd signs in as soon as the head node boots.
        """
        if self.guard is None or self.port is None:
            return []
        return let_in(scope, security_groups, self.guard, port=self.port)

    def head_node_statements(self) -> list[iam.PolicyStatement]:
        """Return what the head node must be allowed besides what ParallelCluster allows it.

        ParallelCluster lets it read both secrets, but no key that encrypts them.
        """
        return _decrypt(self._secrets, "AccountingSecretKey")

    def provider_statements(self) -> list[iam.PolicyStatement]:
        """Return what the provider must be allowed: its validators look the secrets up, and read the munge key."""
        statements: list[iam.PolicyStatement] = []
        if self.password_secret is not None:
            statements.append(_on(self.password_secret, "AccountingPassword", "secretsmanager:DescribeSecret"))
        if self.munge_key_secret is not None:
            statements.append(_on(self.munge_key_secret, "MungeKey", "secretsmanager:GetSecretValue"))
            statements += _decrypt([self.munge_key_secret], "MungeKeyKey")
        return statements

    @property
    def _secrets(self) -> list[secretsmanager.ISecret]:
        return [secret for secret in (self.password_secret, self.munge_key_secret) if secret is not None]


def _on(secret: secretsmanager.ISecret, sid: str, action: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=[action], resources=[secret.secret_arn])


def _decrypt(secrets: Sequence[secretsmanager.ISecret], sid: str) -> list[iam.PolicyStatement]:
    """Return the use of the keys of `secrets`, through Secrets Manager alone; nothing for keys of AWS's own."""
    keys = [secret.encryption_key for secret in secrets]
    arns = list(dict.fromkeys(key.key_arn for key in keys if key is not None))
    if not arns:
        return []
    service = f"secretsmanager.{cdk.Stack.of(secrets[0]).region}.amazonaws.com"
    conditions = {"StringEquals": {"kms:ViaService": service}}
    return [iam.PolicyStatement(sid=sid, actions=["kms:Decrypt"], resources=arns, conditions=conditions)]
