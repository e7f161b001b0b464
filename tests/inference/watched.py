"""A small service, with only the parts that scaling and monitoring require."""

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk.assertions import Template

from llm_fleet.acknowledge import acknowledge
from llm_fleet.inference.alarms import ServiceAlarms
from llm_fleet.inference.cluster import ecs_role
from llm_fleet.inference.metrics import ServiceMetrics, collector_container, collector_permissions
from llm_fleet.inference.neuron_health import NeuronHealth
from llm_fleet.inference.service_monitoring import ServiceScaling, TaskEvents, service_dashboard
from llm_fleet.notifications.alarm_topic import AlarmTopic
from llm_fleet.notifications.metric_alarms import render_dashboard
from llm_fleet.spec.model_shape import Model
from llm_fleet.spec.service import ServiceSpec
from tools.synth_environment import cdk_context

Resources = dict[str, dict[str, Any]]
Find = Callable[..., Resources]

SPEC = ServiceSpec(model=Model(s3_uri="s3://my-models/tanuki-8b"), instance_type="inf2.xlarge")
METRICS = ServiceMetrics(
    server="tgi",
    batch_size=4,
    cluster_name="chat",
    service_name="chat",
    load_balancer="app/chat/50dc6c495c0c9188",
    target_group="targetgroup/chat/73e2d6bc24d8a067",
)


def watch(app: cdk.App) -> list[cdk.Stack]:
    """Create all constructs of scaling and monitoring in one stack, and a second stack with fewer settings."""
    environment = cdk.Environment(account="111122223333", region="us-west-2")
    stacks = [cdk.Stack(app, name, env=environment) for name in ("Watched", "Little")]
    for stack in stacks:
        _watch(stack, full=stack.stack_name == "Watched")
    return stacks


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Resources]:
    """The resources of both stacks, by the stack's name."""
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path_factory.mktemp("watched")))
    return {stack.stack_name: Template.from_stack(stack).to_json()["Resources"] for stack in watch(app)}


@pytest.fixture
def find(templates: dict[str, Resources]) -> Find:
    """Return the properties of resources of a type, by logical id."""

    def find(type: str, *, stack: str = "Watched") -> Resources:
        resources = templates[stack].items()
        return {name: found.get("Properties", {}) for name, found in resources if found["Type"] == type}

    return find


def _watch(stack: cdk.Stack, *, full: bool) -> None:
    group = logs.CfnLogGroup(stack, "Logs", log_group_name="/llm-fleet/inference/chat", retention_in_days=30)
    group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
    acknowledge(group, "a test's", "NIST.800.53.R5-CloudWatchLogGroupEncrypted")
    cluster = ecs.CfnCluster(stack, "Cluster", cluster_name="chat")
    acknowledge(cluster, "a test's", "AwsSolutions-ECS4")
    collector = collector_container(
        stack,
        server="tgi",
        port=8080,
        metrics_path="/metrics",
        cluster_name=cluster.ref,
        service_name="chat",
        log_group_name=group.ref,
    )
    server = ecs.CfnTaskDefinition.ContainerDefinitionProperty(name="server", image="server:1", memory=64)
    task = ecs.CfnTaskDefinition(stack, "Task", container_definitions=[server, collector], network_mode="awsvpc")
    acknowledge(task, "a test's", "AwsSolutions-ECS2", "AwsSolutions-ECS7")
    assert collector_permissions(log_group_arn=group.attr_arn)
    service = ecs.CfnService(
        stack,
        "Service",
        cluster=cluster.ref,
        service_name="chat",
        task_definition=task.ref,
        network_configuration=ecs.CfnService.NetworkConfigurationProperty(
            awsvpc_configuration=ecs.CfnService.AwsVpcConfigurationProperty(
                subnets=["subnet-0123456789abcdef0"], security_groups=["sg-0123456789abcdef0"]
            )
        ),
    )
    spec = SPEC.narrowed(ServiceSpec, **({"minimum": 2, "maximum": 6} if full else {"desired": 2}))
    ServiceScaling(stack, "Scaling", spec=spec, metrics=METRICS, service=service)
    topic = AlarmTopic(stack, "Topic") if full else None
    alarms = ServiceAlarms(stack, "Alarms", metrics=METRICS, log_group=group, topic=topic, neuron_health=full)
    arns = [alarm.attr_arn for alarm in alarms.alarms.values()]
    rows = service_dashboard(METRICS, alarms.plans, alarm_arns=arns, tasks_at_most=6)
    render_dashboard(stack, "Dashboard", "chat", rows)
    TaskEvents(stack, "TaskEvents", cluster_arn=cluster.attr_arn, service_name="chat", log_group=group)
    log = ecs.CfnTaskDefinition.LogConfigurationProperty(
        log_driver="awslogs", options={"awslogs-group": group.ref, "awslogs-region": stack.region}
    )
    NeuronHealth(
        stack,
        "NeuronHealth",
        cluster_name=cluster.ref,
        service_name="chat",
        execution_role_arn=ecs_role(stack, "Execution", description="Starts tasks", permissions=()).role.role_arn,
        log=log,
        recover=full,
        auto_scaling_group_name="hosts" if full else None,
    )
