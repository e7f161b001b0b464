"""Why a database for accounting is as it is, for what cdk-nag asks about."""

from collections.abc import Sequence

from aws_cdk import aws_rds as rds

from llm_fleet.acknowledge import acknowledge

_PORT = (
    "3306 is what HyperPod and ParallelCluster assume, and `port` changes it; the security group lets in groups of "
    "clusters only"
)
_GENERAL_LOG = (
    "the general log would hold every statement, and with them names of jobs and people; errors and slow queries go to "
    "CloudWatch"
)
_MONITORING = "accounting is a small load: CloudWatch has capacity or CPU, connections and latency without it"
_BACKUP_PLAN = (
    "RDS backs it up by itself, every second of `backup_retention_days`; a plan of AWS Backup for what must outlive "
    "that is the account's to make, and finds the database by its tags"
)


def explain_cluster(cluster: rds.CfnDBCluster, servers: Sequence[rds.CfnDBInstance]) -> None:
    """Acknowledge what is asked about an Aurora cluster and its servers."""
    acknowledge(cluster, _PORT, "AwsSolutions-RDS11")
    acknowledge(cluster, "slurmdbd signs in with a password and knows no IAM authentication", "AwsSolutions-RDS6")
    acknowledge(
        cluster, "Aurora MySQL 3 cannot backtrack; backups restore any second of their time", "AwsSolutions-RDS14"
    )
    acknowledge(cluster, _GENERAL_LOG, "NIST.800.53.R5-RDSLoggingEnabled[LogExport::general]")
    for server in servers:
        acknowledge(server, _MONITORING, "NIST.800.53.R5-RDSEnhancedMonitoringEnabled")
        acknowledge(server, _BACKUP_PLAN, "NIST.800.53.R5-RDSInBackupPlan")


def explain_instance(instance: rds.CfnDBInstance) -> None:
    """Acknowledge what is asked about an RDS instance."""
    acknowledge(instance, _PORT, "AwsSolutions-RDS11")
    acknowledge(instance, _GENERAL_LOG, "NIST.800.53.R5-RDSLoggingEnabled[LogExport::general]")
    acknowledge(
        instance,
        "RDS writes an audit log only with an option group's plugin; who signs in is told by VPC flow logs, and the "
        "security group knows clusters only",
        "NIST.800.53.R5-RDSLoggingEnabled[LogExport::audit]",
    )
    acknowledge(instance, _MONITORING, "NIST.800.53.R5-RDSEnhancedMonitoringEnabled")
    acknowledge(instance, _BACKUP_PLAN, "NIST.800.53.R5-RDSInBackupPlan")
    if not instance.multi_az:
        acknowledge(
            instance,
            "slurmctld keeps records back while slurmdbd has no database, and RDS starts a failed server anew; "
            "`standby=True` pays for a second one",
            "AwsSolutions-RDS3",
            "NIST.800.53.R5-RDSMultiAZSupport",
        )
