"""A database for Slurm's accounting: made, or imported."""

from collections.abc import Sequence

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct, IDependable

from llm_fleet.accounting.accounting import for_hyperpod
from llm_fleet.accounting.accounting_database import AccountingDatabase, DatabasePlace, DatabaseSecrets
from llm_fleet.accounting.database_server import ServerOptions, aurora, database_parameters, rds_instance
from llm_fleet.catalog.slurm import slurm_database_facts
from llm_fleet.held import hold
from llm_fleet.network.network import Network
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.slurm_database import (
    DatabaseEngine,
    SlurmDatabaseSettings,
    check_slurm_database,
    check_subnets,
)


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


@jsii.implements(ec2.IConnectable)
class SlurmDatabase(Construct):
    """A MySQL-compatible database for slurmdbd, of ParallelCluster and HyperPod clusters alike.

    Default: Aurora Serverless v2 of 0.5 to 4 capacity units with one server, in subnets without a way out, encrypted,
    TLS asked of every client, backups kept for 14 days, deletion protected; logs of sign-ins, errors and slow queries
    in CloudWatch. Its password is made by Secrets Manager and is in no template. Nobody is let in but the clusters that
    are given the database.

    It is retained: deleting the stack leaves the database, its secrets, its subnet group and its security group.

    Source of facts: `catalog/data/slurm_database.json`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: Network,
        subnets: Sequence[ec2.ISubnet] | None = None,
        engine: str = DatabaseEngine.AURORA_MYSQL,
        engine_version: str | None = None,
        parameter_group_family: str | None = None,
        min_capacity: float | None = None,
        max_capacity: float | None = None,
        instance_class: str | None = None,
        storage_gib: int | None = None,
        standby: bool = False,
        user_name: str = "slurm",
        port: int | None = None,
        require_tls: bool = True,
        backup_retention_days: int = 14,
        backup_window: str | None = None,
        maintenance_window: str | None = None,
        encryption_key: kms.IKey | None = None,
        deletion_protection: bool | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a database, or raise `FleetError` with all that RDS would refuse (LF691, LF697 to LF699).

        Engine, capacity and the rest are as `SlurmDatabaseSettings` documents them, with its defaults.

        - `subnets`: in two AZs or more. Default: subnets of the network's own for databases.
        - `require_tls`: refuse clients that do not encrypt. Default: they are refused, as in AWS's own template for
          ParallelCluster. Whether HyperPod's slurmdbd encrypts is nowhere documented:
          assumption: hyperpod-slurmdbd-connects-with-tls
        - `encryption_key`: of storage and secrets. Default: the keys `aws/rds` and `aws/secretsmanager`.
        - `deletion_protection`: default, as long as it is retained.
        """
        settings = SlurmDatabaseSettings(
            engine=engine,
            engine_version=engine_version,
            parameter_group_family=parameter_group_family,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
            instance_class=instance_class,
            storage_gib=storage_gib,
            standby=standby,
            user_name=user_name,
            port=slurm_database_facts().port if port is None else port,
            backup_retention_days=backup_retention_days,
            backup_window=backup_window,
            maintenance_window=maintenance_window,
        )
        problems = check_slurm_database(settings)
        chosen = list(subnets) if subnets is not None else [] if problems else network.database_subnets()
        if subnets is not None or not problems:
            problems += check_subnets(len(chosen), remedy="name subnets in two AZs as `subnets`")
        raise_problems(problems, subject=f"{scope.node.path}/{id}")
        super().__init__(scope, id)
        self.settings = settings
        """What was asked for."""
        snapshot = removal_policy == cdk.RemovalPolicy.SNAPSHOT
        beside = cdk.RemovalPolicy.DESTROY if snapshot else removal_policy
        place = DatabasePlace(self, "Place", network=network, subnets=chosen, removal_policy=beside)
        self._secrets = DatabaseSecrets(
            self, "Secrets", user_name=user_name, encryption_key=encryption_key, removal_policy=beside
        )
        retained = beside != cdk.RemovalPolicy.DESTROY
        make = aurora if settings.serverless else rds_instance
        self._server = make(
            self,
            ServerOptions(
                settings=settings,
                description=f"slurmdbd: {self.node.path}",
                parameters=database_parameters(settings, require_tls=require_tls),
                subnet_group_name=place.subnet_group.ref,
                security_group_id=place.security_group.security_group_id,
                master_password=self._secrets.master_password,
                key_arn=encryption_key.key_arn if encryption_key else None,
                deletion_protection=retained if deletion_protection is None else deletion_protection,
                removal_policy=removal_policy,
            ),
        )
        self.resource: rds.CfnDBCluster | rds.CfnDBInstance = self._server.resource
        """The L1 beneath."""
        hold(self.resource)
        self._security_group = place.security_group
        self._connections = ec2.Connections(
            security_groups=[place.security_group], default_port=ec2.Port.tcp(settings.port)
        )

    @staticmethod
    def from_attributes(
        *,
        endpoint: str,
        user_name: str = "slurm",
        port: int | None = None,
        password_secret: secretsmanager.ISecret | None = None,
        credentials_secret: secretsmanager.ISecret | None = None,
        connections: ec2.IConnectable | None = None,
    ) -> ImportedSlurmDatabase:
        """Return a database that exists already.

        - `endpoint`: its host name. `port`: default, 3306.
        - `user_name`: who slurmdbd signs in as, and who may create schemas. For ParallelCluster; HyperPod reads it in
          the secret.
        - `password_secret`: a secret whose text is the password and nothing else; a ParallelCluster needs it.
        - `credentials_secret`: a secret with JSON of `username` and `password`; a HyperPod cluster needs it.
        - `connections`: what guards it; clusters are let in. Default: you let them in.
        """
        return ImportedSlurmDatabase(
            endpoint=endpoint,
            port=slurm_database_facts().port if port is None else port,
            user_name=user_name,
            password_secret=password_secret,
            credentials_secret=credentials_secret,
            guard=connections,
        )

    @property
    def endpoint(self) -> str:
        """Host name of the server that takes writes."""
        return self._server.endpoint

    @property
    def port(self) -> int:
        """TCP port."""
        return self.settings.port

    @property
    def user_name(self) -> str:
        """Who slurmdbd signs in as."""
        return self.settings.user_name

    @property
    def password_secret(self) -> secretsmanager.ISecret:
        """A secret whose text is the password and nothing else, as ParallelCluster wants it."""
        return self._secrets.password

    @property
    def credentials_secret(self) -> secretsmanager.ISecret:
        """A secret with JSON of `username` and `password`, as HyperPod wants it."""
        return self._secrets.credentials

    @property
    def security_group(self) -> ec2.ISecurityGroup:
        """The database's own group."""
        return self._security_group

    @property
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`, with the database's port as default."""
        return self._connections

    @property
    def servers(self) -> Sequence[IDependable]:
        """What clusters wait for: an address of Aurora's answers only once a server stands behind it."""
        return self._server.servers

    @property
    def guard(self) -> ec2.IConnectable:
        """What clusters are let in to."""
        return self._security_group

    def for_hyperpod(self, *, database_name: str | None = None) -> AccountingDatabase:
        """Return it as a HyperPod cluster takes it. `database_name`: default, a schema of each cluster's own."""
        return for_hyperpod(self, database_name=database_name)

    def grant_read_secret(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` read user name and password, e.g. to look into the records with a MySQL client."""
        return self.credentials_secret.grant_read(grantee)

    def metric(self, name: str, *, statistic: str = "Average", period: cdk.Duration | None = None) -> cloudwatch.Metric:
        """Return a metric of RDS, e.g. `DatabaseConnections`, `FreeStorageSpace`. `period`: default, 5 minutes."""
        return cloudwatch.Metric(
            namespace="AWS/RDS",
            metric_name=name,
            dimensions_map=dict(self._server.dimensions),
            statistic=statistic,
            period=period or cdk.Duration.minutes(5),
        )

    def metric_connections(self) -> cloudwatch.Metric:
        """Return how many clients are signed in: one or more for each slurmdbd."""
        return self.metric("DatabaseConnections", statistic="Maximum")

    def metric_cpu(self) -> cloudwatch.Metric:
        """Return the use of CPU, in percent; on Aurora Serverless v2, of the most capacity that it may take."""
        return self.metric("CPUUtilization")
