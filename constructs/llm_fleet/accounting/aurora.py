"""The Aurora Serverless v2 cluster of a database for accounting."""

import aws_cdk as cdk
from aws_cdk import aws_rds as rds
from constructs import Construct

from llm_fleet.accounting.database_server import DatabaseServer, ServerOptions
from llm_fleet.accounting.findings import explain_cluster
from llm_fleet.catalog.slurm import slurm_database_facts

_SERVERLESS = "db.serverless"


def aurora(scope: Construct, options: ServerOptions) -> DatabaseServer:
    """Make the cluster and its servers in `scope`."""
    settings = options.settings
    parameters = rds.CfnDBClusterParameterGroup(
        scope,
        "Parameters",
        description=options.description,
        family=settings.effective_family,
        parameters=options.parameters,
    )
    least, most = settings.effective_capacity
    cluster = rds.CfnDBCluster(
        scope,
        "Resource",
        engine=settings.engine,
        engine_version=settings.effective_version,
        db_cluster_parameter_group_name=parameters.ref,
        db_subnet_group_name=options.subnet_group_name,
        vpc_security_group_ids=[options.security_group_id],
        port=settings.port,
        master_username=settings.user_name,
        master_user_password=options.master_password,
        serverless_v2_scaling_configuration=rds.CfnDBCluster.ServerlessV2ScalingConfigurationProperty(
            min_capacity=least, max_capacity=most
        ),
        storage_encrypted=True,
        kms_key_id=options.key_arn,
        backup_retention_period=settings.backup_retention_days,
        preferred_backup_window=settings.backup_window,
        preferred_maintenance_window=settings.maintenance_window,
        copy_tags_to_snapshot=True,
        deletion_protection=options.deletion_protection,
        enable_cloudwatch_logs_exports=list(slurm_database_facts().engines[settings.engine].logs),
    )
    servers = [
        rds.CfnDBInstance(
            scope,
            "Writer" if index == 0 else "Standby",
            db_cluster_identifier=cluster.ref,
            db_instance_class=_SERVERLESS,
            engine=settings.engine,
            auto_minor_version_upgrade=True,
            preferred_maintenance_window=settings.maintenance_window,
            publicly_accessible=False,
            promotion_tier=index,
        )
        for index in range(2 if settings.standby else 1)
    ]
    explain_cluster(cluster, servers)
    _keep(options.removal_policy, parameters, cluster, servers)
    return DatabaseServer(
        resource=cluster,
        endpoint=cluster.attr_endpoint_address,
        dimensions={"DBClusterIdentifier": cluster.ref},
        # The cluster and its address are there minutes before the first server is.
        servers=tuple(servers),
    )


def _keep(
    policy: cdk.RemovalPolicy,
    parameters: rds.CfnDBClusterParameterGroup,
    cluster: rds.CfnDBCluster,
    servers: list[rds.CfnDBInstance],
) -> None:
    cluster.apply_removal_policy(policy)
    # A snapshot is of the whole cluster; what stands around it has none.
    beside = cdk.RemovalPolicy.DESTROY if policy == cdk.RemovalPolicy.SNAPSHOT else policy
    for resource in (parameters, *servers):
        resource.apply_removal_policy(beside)
