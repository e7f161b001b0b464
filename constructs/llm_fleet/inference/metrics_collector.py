"""The collector beside a server, which brings its metrics to CloudWatch."""

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from llm_fleet.catalog.service import collector_facts
from llm_fleet.iam.statements import Permission
from llm_fleet.inference.collector_configuration import LOG_STREAM, collector_configuration

COLLECTOR = "collector"
"""Name of the container."""


def collector_container(
    scope: Construct,
    *,
    server: str,
    port: int,
    metrics_path: str,
    cluster_name: str,
    service_name: str,
    log_group_name: str,
    image: str | None = None,
    log: ecs.CfnTaskDefinition.LogConfigurationProperty | None = None,
) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty:
    """Return the AWS Distro for OpenTelemetry Collector as a container of the server's task.

    It reaches the server at 127.0.0.1, so the task must be in network mode `awsvpc`. It is not essential, since a
    service that nobody measures still serves, and ECS starts it anew when it ends.

    - `server`: the server's name in the catalog.
    - `image`: default the catalog's, of the public ECR, which a network without internet cannot reach.
    - `log`: where its own warnings go. Default: nowhere.
    """
    facts = collector_facts()
    configuration = collector_configuration(
        server=server,
        port=port,
        metrics_path=metrics_path,
        cluster_name=cluster_name,
        service_name=service_name,
        log_group_name=log_group_name,
        region=cdk.Stack.of(scope).region,
    )
    return ecs.CfnTaskDefinition.ContainerDefinitionProperty(
        name=COLLECTOR,
        image=image or facts.image,
        essential=False,
        cpu=facts.cpu_units,
        memory=facts.memory_mib,
        environment=[
            ecs.CfnTaskDefinition.KeyValuePairProperty(
                name="AOT_CONFIG_CONTENT", value=cdk.Stack.of(scope).to_json_string(configuration)
            )
        ],
        readonly_root_filesystem=True,
        log_configuration=log,
        restart_policy=ecs.CfnTaskDefinition.RestartPolicyProperty(
            enabled=True, restart_attempt_period=facts.restart_attempt_seconds
        ),
    )


def collector_permissions(*, log_group_arn: str) -> tuple[Permission, ...]:
    """Return what the task's role must have for the collector. `log_group_arn` is without `:*` at its end."""
    return (
        Permission(
            sid="WriteMetrics",
            actions=("logs:CreateLogStream", "logs:PutLogEvents"),
            resources=(f"{log_group_arn}:log-stream:{LOG_STREAM}",),
            reason="the collector writes the server's metrics as lines of EMF, of which CloudWatch makes metrics",
        ),
    )
