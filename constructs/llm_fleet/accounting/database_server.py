"""The server of the accounting database: RDS or Aurora, its parameters, findings, and schema names.

slurmdbd rejects a schema that holds another cluster's id ("CLUSTER ID MISMATCH"), even if an earlier cluster had the
same name. So each cluster has its own schema, and a cluster that is created again has a new one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_rds as rds
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.nodes import slurm_database_facts
from llm_fleet.rules.problem import is_unresolved
from llm_fleet.rules.slurm_database import SCHEMA_PREFIX
from llm_fleet.spec.slurm_database import AccountingDatabase, SlurmDatabaseSpec
from llm_fleet.spec.spec import in_request

_PORT = (
    "3306 is what HyperPod and ParallelCluster assume, and `port` changes it; the security group allows groups of "
    "clusters only"
)
_GENERAL_LOG = (
    "the general log would hold every statement, and with them names of jobs and people; errors and slow queries go to "
    "CloudWatch"
)
_MONITORING = "accounting is a small workload: CloudWatch has capacity or CPU, connections and latency without it"
_BACKUP_PLAN = (
    "RDS backs it up by itself, every second of `backup_retention_days`; a plan of AWS Backup for what must outlive "
    "that is the account's to make, and finds the database by its tags"
)


def explain_cluster(cluster: rds.CfnDBCluster, servers: Sequence[rds.CfnDBInstance]) -> None:
    """Acknowledge the cdk-nag findings of an Aurora cluster and its instances."""
    acknowledge(cluster, _PORT, "AwsSolutions-RDS11")
    acknowledge(
        cluster, "slurmdbd signs in with a password and does not support IAM authentication", "AwsSolutions-RDS6"
    )
    acknowledge(
        cluster, "Aurora MySQL 3 cannot backtrack; backups restore any second of their time", "AwsSolutions-RDS14"
    )
    acknowledge(cluster, _GENERAL_LOG, "NIST.800.53.R5-RDSLoggingEnabled[LogExport::general]")
    for server in servers:
        _explain_server(server)


def _explain_server(server: rds.CfnDBInstance) -> None:
    acknowledge(server, _MONITORING, "NIST.800.53.R5-RDSEnhancedMonitoringEnabled")
    acknowledge(server, _BACKUP_PLAN, "NIST.800.53.R5-RDSInBackupPlan")


def explain_instance(instance: rds.CfnDBInstance) -> None:
    """Acknowledge the cdk-nag findings of an RDS instance."""
    acknowledge(instance, _PORT, "AwsSolutions-RDS11")
    acknowledge(instance, _GENERAL_LOG, "NIST.800.53.R5-RDSLoggingEnabled[LogExport::general]")
    acknowledge(
        instance,
        "RDS writes an audit log only with an option group's plugin; VPC flow logs record connections, and the "
        "security group allows clusters only",
        "NIST.800.53.R5-RDSLoggingEnabled[LogExport::audit]",
    )
    _explain_server(instance)
    if not instance.multi_az:
        acknowledge(
            instance,
            "slurmctld keeps records back while slurmdbd has no database, and RDS restarts a failed server; "
            "`standby=True` pays for a second one",
            "AwsSolutions-RDS3",
            "NIST.800.53.R5-RDSMultiAZSupport",
        )


def database_parameters(spec: SlurmDatabaseSpec) -> dict[str, str]:
    """Return the server parameters of `spec`.

    Slurm requires the lock wait timeout: at the end of a month slurmdbd rolls records up for minutes, and shorter waits
    lose records. The buffer pool is RDS's default, most of the memory, and on Aurora Serverless v2 it follows the
    capacity; a fixed number would only be smaller.
    """
    facts = slurm_database_facts()
    # ParallelCluster's slurmdbd connects with TLS. HyperPod's: assumption: hyperpod-slurmdbd-connects-with-tls
    parameters = {
        "innodb_lock_wait_timeout": str(facts.lock_wait_seconds),
        "max_allowed_packet": str(facts.max_allowed_packet_bytes),
        "require_secure_transport": _switch(spec, on=spec.require_tls),
        "slow_query_log": "1",
    }
    if spec.serverless:
        # Who signed in; statements would hold names of jobs and people.
        return parameters | {"server_audit_logging": "1", "server_audit_events": "CONNECT"}
    return parameters | {"log_output": "FILE"}  # only files reach CloudWatch


def _switch(spec: SlurmDatabaseSpec, *, on: bool) -> str:
    if spec.serverless:
        return "ON" if on else "OFF"
    return "1" if on else "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """A checked database, and the resources that it needs."""

    spec: SlurmDatabaseSpec
    description: str
    parameters: Mapping[str, str]
    subnet_group_name: str
    security_group_id: str
    master_password: str
    key_arn: str | None
    deletion_protection: bool
    removal_policy: cdk.RemovalPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseServer:
    """A created server."""

    resource: rds.CfnDBCluster | rds.CfnDBInstance
    """The L1 that holds the data."""
    endpoint: str
    dimensions: Mapping[str, str]
    """Dimensions of its CloudWatch metrics."""
    servers: tuple[cdk.CfnResource, ...] = ()
    """What must run in addition to `resource` before a client can connect."""


_CLASS = "db.t4g.medium"
_STORAGE_GIB = 20
_GROWTH = 5
"""Maximum size to which storage grows automatically, as a multiple of its initial size."""


def rds_instance(scope: Construct, options: ServerOptions) -> DatabaseServer:
    """Make the instance in `scope`."""
    spec = options.spec
    parameters = rds.CfnDBParameterGroup(
        scope,
        "Parameters",
        description=options.description,
        family=spec.effective_family,
        parameters=options.parameters,
    )
    storage = spec.storage_gib or _STORAGE_GIB
    instance = rds.CfnDBInstance(
        scope,
        "Resource",
        **_common(options),
        db_instance_class=spec.instance_class or _CLASS,
        allocated_storage=str(storage),
        max_allocated_storage=storage * _GROWTH,
        storage_type="gp3",
        multi_az=spec.standby,
        db_parameter_group_name=parameters.ref,
        vpc_security_groups=[options.security_group_id],
        port=str(spec.port),
        auto_minor_version_upgrade=True,
        publicly_accessible=False,
    )
    explain_instance(instance)
    _keep(options.removal_policy, instance, parameters)
    return DatabaseServer(
        resource=instance,
        endpoint=instance.attr_endpoint_address,
        dimensions={"DBInstanceIdentifier": instance.ref},
    )


_SERVERLESS = "db.serverless"


def aurora(scope: Construct, options: ServerOptions) -> DatabaseServer:
    """Create the cluster and its instances in `scope`."""
    spec = options.spec
    parameters = rds.CfnDBClusterParameterGroup(
        scope,
        "Parameters",
        description=options.description,
        family=spec.effective_family,
        parameters=options.parameters,
    )
    least, most = spec.effective_capacity
    cluster = rds.CfnDBCluster(
        scope,
        "Resource",
        **_common(options),
        db_cluster_parameter_group_name=parameters.ref,
        vpc_security_group_ids=[options.security_group_id],
        port=spec.port,
        serverless_v2_scaling_configuration=rds.CfnDBCluster.ServerlessV2ScalingConfigurationProperty(
            min_capacity=least, max_capacity=most
        ),
    )
    servers = [
        rds.CfnDBInstance(
            scope,
            "Writer" if index == 0 else "Standby",
            db_cluster_identifier=cluster.ref,
            db_instance_class=_SERVERLESS,
            engine=spec.engine,
            auto_minor_version_upgrade=True,
            preferred_maintenance_window=spec.maintenance_window,
            publicly_accessible=False,
            promotion_tier=index,
        )
        for index in range(2 if spec.standby else 1)
    ]
    explain_cluster(cluster, servers)
    _keep(options.removal_policy, cluster, parameters, *servers)
    return DatabaseServer(
        resource=cluster,
        endpoint=cluster.attr_endpoint_address,
        dimensions={"DBClusterIdentifier": cluster.ref},
        # The cluster and its endpoint exist minutes before the first instance.
        servers=tuple(servers),
    )


def _common(options: ServerOptions) -> dict[str, Any]:
    """Return the common properties of an instance and a cluster."""
    spec = options.spec
    return {
        **in_request(spec),
        "engine_version": spec.effective_version,
        "db_subnet_group_name": options.subnet_group_name,
        "master_user_password": options.master_password,
        "storage_encrypted": True,
        "kms_key_id": options.key_arn,
        "copy_tags_to_snapshot": True,
        "deletion_protection": options.deletion_protection,
        "enable_cloudwatch_logs_exports": list(slurm_database_facts().engines[spec.engine].logs),
    }


def _keep(policy: cdk.RemovalPolicy, resource: cdk.CfnResource, *next_to: cdk.CfnResource) -> None:
    """Retain or delete `resource`, which holds the data, and the resources next to it, which have no snapshots."""
    resource.apply_removal_policy(policy)
    for each in next_to:
        each.apply_removal_policy(cdk.RemovalPolicy.DESTROY if policy == cdk.RemovalPolicy.SNAPSHOT else policy)


_ADDRESS = 8
"""Length of the part of a construct's address that distinguishes the clusters of one stack."""


def schema_of(scope: Construct, database: AccountingDatabase) -> str:
    """Return the schema in `database` of the HyperPod cluster at `scope`; by default, one named by the stack's GUID.

    CloudFormation's default is one name for all clusters.
    """
    return database.database_name or f"{SCHEMA_PREFIX}{_stack_guid(scope)}"


def parallelcluster_schema(scope: Construct, cluster_name: str) -> str:
    """Return a schema for the ParallelCluster of that name, the one with the hash, made in the stack of `scope`.

    A cluster whose immutable settings change has another name, and one whose stack is created again another GUID. Only
    one that is removed from its stack and added again unchanged finds its own records.
    """
    name = scope.node.addr[-_ADDRESS:] if is_unresolved(cluster_name) else cluster_name.lower()
    return f"{SCHEMA_PREFIX}{re.sub('[^0-9a-z_]', '_', name)}_{_stack_guid(scope)}"


def _stack_guid(scope: Construct) -> str:
    """Return the first block of the GUID that the stack's ARN ends with: eight hexadecimal digits."""
    guid = cdk.Fn.select(2, cdk.Fn.split("/", cdk.Stack.of(scope).stack_id))
    return cdk.Fn.select(0, cdk.Fn.split("-", guid))
