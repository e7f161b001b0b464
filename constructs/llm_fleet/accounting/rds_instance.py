"""The RDS instance of a database for accounting."""

import aws_cdk as cdk
from aws_cdk import aws_rds as rds
from constructs import Construct

from llm_fleet.accounting.database_server import DatabaseServer, ServerOptions
from llm_fleet.accounting.findings import explain_instance
from llm_fleet.catalog.slurm import slurm_database_facts

_CLASS = "db.t4g.medium"
_STORAGE_GIB = 20
_GROWTH = 5
"""How many times its first size the storage may grow to by itself."""


def rds_instance(scope: Construct, options: ServerOptions) -> DatabaseServer:
    """Make the instance in `scope`."""
    settings = options.settings
    parameters = rds.CfnDBParameterGroup(
        scope,
        "Parameters",
        description=options.description,
        family=settings.effective_family,
        parameters=options.parameters,
    )
    storage = settings.storage_gib or _STORAGE_GIB
    instance = rds.CfnDBInstance(
        scope,
        "Resource",
        engine=settings.engine,
        engine_version=settings.effective_version,
        db_instance_class=settings.instance_class or _CLASS,
        allocated_storage=str(storage),
        max_allocated_storage=storage * _GROWTH,
        storage_type="gp3",
        multi_az=settings.standby,
        db_parameter_group_name=parameters.ref,
        db_subnet_group_name=options.subnet_group_name,
        vpc_security_groups=[options.security_group_id],
        port=str(settings.port),
        master_username=settings.user_name,
        master_user_password=options.master_password,
        storage_encrypted=True,
        kms_key_id=options.key_arn,
        backup_retention_period=settings.backup_retention_days,
        preferred_backup_window=settings.backup_window,
        preferred_maintenance_window=settings.maintenance_window,
        copy_tags_to_snapshot=True,
        auto_minor_version_upgrade=True,
        publicly_accessible=False,
        deletion_protection=options.deletion_protection,
        enable_cloudwatch_logs_exports=list(slurm_database_facts().engines[settings.engine].logs),
    )
    explain_instance(instance)
    instance.apply_removal_policy(options.removal_policy)
    snapshot = options.removal_policy == cdk.RemovalPolicy.SNAPSHOT
    parameters.apply_removal_policy(cdk.RemovalPolicy.DESTROY if snapshot else options.removal_policy)
    return DatabaseServer(
        resource=instance,
        endpoint=instance.attr_endpoint_address,
        dimensions={"DBInstanceIdentifier": instance.ref},
    )
