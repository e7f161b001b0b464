"""A database for Slurm's accounting."""

from collections.abc import Sequence

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct, IDependable

from llm_fleet.accounting.accounting import DatabasePlace, DatabaseSecrets
from llm_fleet.accounting.database_server import ServerOptions, aurora, database_parameters, rds_instance
from llm_fleet.catalog.hyperpod import hyperpod_facts
from llm_fleet.network.network import Network
from llm_fleet.references import hold, key_of, subnet_of
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.slurm_database import check_slurm_database, check_subnets
from llm_fleet.spec.slurm_database import Accounting, AccountingDatabase, SlurmDatabaseSpec


@jsii.implements(ec2.IConnectable)
class SlurmDatabase(Construct):
    """A MySQL-compatible database for slurmdbd, for both ParallelCluster and HyperPod clusters.

    Default: Aurora Serverless v2 of 0.5 to 4 capacity units with one server, in subnets without internet access,
    encrypted, TLS required for every client, backups retained for 14 days, deletion protection; logs of sign-ins,
    errors and slow queries in CloudWatch. Secrets Manager generates its password, which is in no template. The only
    clients allowed are clusters that are given the database.

    It is retained: deleting the stack leaves the database, its secrets, its subnet group and its security group.

    Source of facts: `catalog/data/slurm_database.json`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        spec: SlurmDatabaseSpec | None = None,
        *,
        network: Network,
        deletion_protection: bool | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        """Make a database, or raise `FleetError` with everything that RDS would reject (LF691, LF697 to LF699).

        `spec`: its settings. Default: `SlurmDatabaseSpec()`. `deletion_protection`: default, as long as it is retained.
        """
        path = f"{scope.node.path}/{id}"
        spec = SlurmDatabaseSpec() if spec is None else spec
        raise_problems(check_is_spec(spec, SlurmDatabaseSpec, "spec"), subject=path)
        problems = check_slurm_database(spec)
        # Its subnets come last: a network creates them on the first call.
        named, lent = len(spec.subnets), [] if problems or spec.subnets else network.database_subnets()
        if spec.subnets or not problems:
            problems += check_subnets(named or len(lent), remedy="set subnets in two AZs as `subnets`")
        raise_problems(problems, subject=path)
        super().__init__(scope, id)
        self.spec = spec
        """The spec as given."""
        chosen = lent or [subnet_of(self, f"Subnet{n}", subnet) for n, subnet in enumerate(spec.subnets)]
        encryption_key = key_of(self, "Key", spec.encryption_key)
        snapshot = removal_policy == cdk.RemovalPolicy.SNAPSHOT
        next_to = cdk.RemovalPolicy.DESTROY if snapshot else removal_policy
        place = DatabasePlace(self, "Place", network=network, subnets=chosen, removal_policy=next_to)
        secrets = DatabaseSecrets(
            self, "Secrets", user_name=spec.user_name, encryption_key=encryption_key, removal_policy=next_to
        )
        retained = next_to != cdk.RemovalPolicy.DESTROY
        make = aurora if spec.serverless else rds_instance
        self._server = make(
            self,
            ServerOptions(
                spec=spec,
                description=f"slurmdbd: {self.node.path}",
                parameters=database_parameters(spec),
                subnet_group_name=place.subnet_group.ref,
                security_group_id=place.security_group.security_group_id,
                master_password=secrets.master_password,
                key_arn=encryption_key.key_arn if encryption_key else None,
                deletion_protection=retained if deletion_protection is None else deletion_protection,
                removal_policy=removal_policy,
            ),
        )
        self.resource: rds.CfnDBCluster | rds.CfnDBInstance = self._server.resource
        """The L1."""
        hold(self.resource)
        self.endpoint: str = self._server.endpoint
        """Host name of the writer."""
        self.port: int = spec.port
        """TCP port."""
        self.user_name: str = spec.user_name
        """The user name of slurmdbd."""
        self.password_secret: secretsmanager.ISecret = secrets.password
        """A secret whose text is only the password, as ParallelCluster requires."""
        self.credentials_secret: secretsmanager.ISecret = secrets.credentials
        """A secret with JSON of `username` and `password`, as HyperPod requires."""
        self.servers: Sequence[IDependable] = self._server.servers
        """Clusters depend on these: an Aurora endpoint accepts connections only when the cluster has an instance."""
        self.security_group: ec2.ISecurityGroup = place.security_group
        """The database's own group."""
        self._connections = ec2.Connections(
            security_groups=[place.security_group], default_port=ec2.Port.tcp(spec.port)
        )

    @property
    def connections(self) -> ec2.Connections:
        """The connections of `security_group`, with the database's port as default."""
        return self._connections

    @property
    def guard(self) -> ec2.IConnectable:
        """The database that clusters connect to."""
        return self.security_group

    def for_hyperpod(self, *, database_name: str | None = None) -> AccountingDatabase:
        """Return it in the form for a HyperPod cluster. `database_name`: default, a schema of each cluster's own."""
        return AccountingDatabase(
            endpoint=self.endpoint,
            secret=self.credentials_secret,
            port=None if self.port == hyperpod_facts().accounting_port else self.port,
            database_name=database_name,
            connections=self,
            servers=self.servers,
        )

    def for_parallelcluster(self, *, database_name: str | None = None) -> Accounting:
        """Return it in the form for a ParallelCluster, whose head node then runs slurmdbd.

        `database_name`: the schema, of lower-case letters, digits and underscores. Default: a unique name, which also
        changes if this cluster is created again, because slurmdbd rejects the records of another cluster's id.
        """
        return Accounting(
            endpoint=self.endpoint,
            port=self.port,
            user_name=self.user_name,
            password_secret=self.password_secret,
            database_name=database_name,
            connections=self,
            servers=self.servers,
        )

    def grant_read_secret(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` read user name and password, e.g. to query the records with a MySQL client."""
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
        """Return the number of connected clients: one or more for each slurmdbd."""
        return self.metric("DatabaseConnections", statistic="Maximum")

    def metric_cpu(self) -> cloudwatch.Metric:
        """Return the use of CPU, in percent; on Aurora Serverless v2, of its maximum capacity."""
        return self.metric("CPUUtilization")
