"""The ECS cluster of one service."""

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from llm_fleet.inference.service_log import ServiceLog


def render_cluster(scope: Construct, name: str, *, log: ServiceLog, record_shells: bool) -> ecs.CfnCluster:
    """Return the cluster `Cluster` in `scope`; with `record_shells` what is typed by ECS Exec goes into `log`.

    A cluster of its own for each service: it costs nothing, its capacity provider goes with it, and no task of another
    service is ever placed on a host whose accelerator is taken.
    """
    shells = ecs.CfnCluster.ClusterConfigurationProperty(
        execute_command_configuration=ecs.CfnCluster.ExecuteCommandConfigurationProperty(
            logging="OVERRIDE",
            log_configuration=ecs.CfnCluster.ExecuteCommandLogConfigurationProperty(
                cloud_watch_log_group_name=log.log_group.ref,
                cloud_watch_encryption_enabled=log.encrypted,
            ),
        )
    )
    return ecs.CfnCluster(
        scope,
        "Cluster",
        cluster_name=name,
        # Tasks and containers by themselves, beside the sums: a leak of memory is seen before the kernel ends a server.
        cluster_settings=[ecs.CfnCluster.ClusterSettingsProperty(name="containerInsights", value="enhanced")],
        configuration=shells if record_shells else None,
        tags=[cdk.CfnTag(key="Name", value=name)],
    )
