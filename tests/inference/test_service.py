"""The ECS service, its template, and grants to other roles.

The template of a service is stable: ids, defaults, the order in which CloudFormation creates resources.

A changed logical id replaces a load balancer, and changes its DNS name, for everyone who deploys the next release.
`make golden` updates the file; the difference is then reviewed in the commit.
"""

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from examples import strangers_inference
from llm_fleet import Authentication, FleetError, Front, InferenceService
from llm_fleet.inference.service import least_healthy_percent
from llm_fleet.rules.codes import Code
from tests.conftest import ENVIRONMENT
from tests.inference.services import MakeService, Served


def test_the_capacity_provider_places_one_task_per_host(talk: Served, managed: Served):
    service = talk.service["Properties"]
    (provider,) = talk.of_type("AWS::ECS::CapacityProvider")
    assert service["CapacityProviderStrategy"] == [{"CapacityProvider": {"Ref": provider}, "Weight": 1}]
    assert service["PlacementConstraints"] == [{"Type": "distinctInstance"}]
    assert "LaunchType" not in service
    # One task gets all devices of a managed instance without any setting.
    assert "PlacementConstraints" not in managed.service["Properties"]


def test_an_update_requires_no_additional_accelerator(talk: Served, hub: Served, managed: Served):
    percentages = {
        name: served.service["Properties"]["DeploymentConfiguration"]
        for name, served in {"two": talk, "two to six": hub, "one": managed}.items()
    }
    assert {name: each["MaximumPercent"] for name, each in percentages.items()} == dict.fromkeys(percentages, 100)
    assert {name: each["MinimumHealthyPercent"] for name, each in percentages.items()} == {
        "two": 50,
        "two to six": 50,
        "one": 0,
    }
    for served in (talk, hub, managed):
        service = served.service["Properties"]
        assert service["DeploymentConfiguration"]["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}
        # ECS allows AZ rebalancing only with more than 100 percent.
        assert service["AvailabilityZoneRebalancing"] == "DISABLED"


def test_with_scaling_the_number_of_tasks_is_not_in_the_template(talk: Served, hub: Served):
    assert talk.service["Properties"]["DesiredCount"] == 2
    assert "DesiredCount" not in hub.service["Properties"]
    target = hub.only("AWS::ApplicationAutoScaling::ScalableTarget")["Properties"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (2, 6)
    assert talk.of_type("AWS::ApplicationAutoScaling::ScalableTarget") == {}


def test_the_grace_period_depends_on_the_load_time_of_the_model(talk: Served, hub: Served, managed: Served):
    grace = [each.service["Properties"]["HealthCheckGracePeriodSeconds"] for each in (talk, hub, managed)]
    assert grace[0] == 1080
    assert grace[1] == 7200, "as set"
    assert grace[2] > 3600, "compiled when it starts"


def test_it_depends_on_capacity_provider_listener_and_roles(talk: Served):
    waits = set(talk.service["DependsOn"])
    for type in (
        "AWS::ECS::ClusterCapacityProviderAssociations",
        "AWS::ElasticLoadBalancingV2::ListenerRule",
        "AWS::ElasticLoadBalancingV2::Listener",
        "AWS::EC2::Route",
    ):
        there = set(talk.of_type(type))
        assert there, type
        assert there <= waits, type
    assert {name for name in talk.of_type("AWS::IAM::ManagedPolicy") if "Task" in name} <= waits


def test_no_host_is_started_before_the_model_is_checked(talk: Served):
    (check,) = talk.of_type("Custom::LlmFleetModelCheck")
    assert check in talk.only("AWS::AutoScaling::AutoScalingGroup")["DependsOn"]


def test_a_task_accepts_only_the_load_balancer_and_connects_only_with_https(talk: Served):
    (group,) = [name for name in talk.of_type("AWS::EC2::SecurityGroup") if "TaskSecurityGroup" in name]
    id = {"Fn::GetAtt": [group, "GroupId"]}
    (ingress,) = [
        each["Properties"]
        for each in talk.of_type("AWS::EC2::SecurityGroupIngress").values()
        if each["Properties"]["GroupId"] == id
    ]
    (front,) = [name for name in talk.of_type("AWS::EC2::SecurityGroup") if "FrontSecurityGroup" in name]
    assert ingress["SourceSecurityGroupId"] == {"Fn::GetAtt": [front, "GroupId"]}
    assert (ingress["FromPort"], ingress["ToPort"]) == (8080, 8080)
    properties = talk.of_type("AWS::EC2::SecurityGroup")[group]["Properties"]
    assert "SecurityGroupIngress" not in properties
    (egress,) = properties["SecurityGroupEgress"]
    assert (egress["FromPort"], egress["ToPort"]) == (443, 443)
    network = talk.service["Properties"]["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert network["SecurityGroups"] == [id]
    assert network["AssignPublicIp"] == "DISABLED"


def test_tags_are_propagated_to_tasks(talk: Served):
    service = talk.service["Properties"]
    assert (service["EnableECSManagedTags"], service["PropagateTags"]) == (True, "SERVICE")


def test_devices_are_monitored_only_on_ec2_hosts_of_the_service(talk: Served, managed: Served):
    (daemon,) = [
        body["Properties"]
        for body in talk.of_type("AWS::ECS::Service").values()
        if body["Properties"].get("SchedulingStrategy") == "DAEMON"
    ]
    assert daemon["ServiceName"] == "chat-neuron-health"
    assert len(managed.of_type("AWS::ECS::Service")) == 1
    assert managed.construct.neuron_health is None


def test_managed_instances_have_no_auto_scaling_group(managed: Served):
    assert managed.of_type("AWS::AutoScaling::AutoScalingGroup") == {}
    assert managed.of_type("AWS::EC2::LaunchTemplate") == {}
    assert managed.of_type("Custom::LlmFleetModelCheck") == {}


def kept_running(running: int, *, least: int) -> int:
    """How many of `running` tasks ECS keeps running, rounded up (DeploymentConfiguration)."""
    return math.ceil(running * least_healthy_percent(least) / 100)


def test_with_the_minimum_number_of_tasks_an_update_stops_one_task_at_a_time():
    assert [kept_running(tasks, least=tasks) for tasks in range(1, 101)] == list(range(100))


@pytest.mark.parametrize("least", [1, 2, 3, 7, 150, 1000])
def test_with_more_tasks_than_the_minimum_an_update_can_proceed(least: int):
    assert all(kept_running(running, least=least) < running for running in range(least, least + 40))


GOLDEN = Path(__file__).parent / "golden" / "strangers-inference.json"
# Hashes of the files of a Lambda function; other tests check the files.
HASH = re.compile(r"\b[0-9a-f]{64}\b")
LONG = 1000
"""Longer texts are programs or pictures, which other tests check."""


def test_the_golden_template_of_a_service_is_unchanged(app: cdk.App):
    stack = strangers_inference.ProductStack(app, "Product", env=ENVIRONMENT)
    template = Template.from_stack(stack).to_json()
    own = {section: _of_service(template[section]) for section in ("Resources", "Outputs")}
    text = HASH.sub("<hash>", json.dumps(_short(own), indent=1)) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "the template has changed: read the difference, then run `make golden`"


def _of_service(section: dict[str, Any]) -> dict[str, Any]:
    return {name: body for name, body in section.items() if name.startswith("Chat")}


def _short(value: Any) -> Any:
    """Return `value` with long texts shortened."""
    if isinstance(value, str):
        return value if len(value) < LONG else f"{value[:80]}<and so on>"
    if isinstance(value, list):
        return [_short(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


@pytest.fixture
def service(make: MakeService) -> InferenceService:
    return make(name="chat")


@pytest.fixture
def role(stack: cdk.Stack) -> iam.Role:
    return iam.Role(stack, "Someone", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))  # pyright: ignore[reportArgumentType]


def statements(stack: cdk.Stack) -> list[dict[str, Any]]:
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    (own,) = [body for name, body in policies.items() if name.startswith("Someone")]
    return own["Properties"]["PolicyDocument"]["Statement"]


def test_grant_to_read_the_api_key(stack: cdk.Stack, service: InferenceService, role: iam.Role):
    assert service.grants.read_api_key(role).success
    (statement,) = statements(stack)
    assert "secretsmanager:GetSecretValue" in statement["Action"]
    assert service.api_key_secret is not None
    assert statement["Resource"] == stack.resolve(service.api_key_secret.secret_arn)


def test_without_an_api_key_the_grant_is_rejected(make: MakeService, role: iam.Role):
    service = make(front=Front(plain_http=True, authentication=Authentication.NONE))
    assert service.api_key_secret is None
    with pytest.raises(FleetError) as rejected:
        service.grants.read_api_key(role)
    assert [problem.code for problem in rejected.value.problems] == [Code.SERVICE_WITHOUT_KEY]


def test_grants_to_describe_and_to_replace_tasks(stack: cdk.Stack, service: InferenceService, role: iam.Role):
    service.grants.redeploy(role)
    by_action = {str(each["Action"]): each for each in statements(stack)}
    assert set(by_action) == {"ecs:DescribeServices", "ecs:DescribeTasks", "ecs:ListTasks", "ecs:UpdateService"} or (
        set(by_action) == {"['ecs:DescribeServices', 'ecs:UpdateService']", "ecs:DescribeTasks", "ecs:ListTasks"}
    )
    for action, statement in by_action.items():
        assert statement["Resource"] != "*" or action == "ecs:ListTasks"
    assert "ArnEquals" in by_action["ecs:ListTasks"]["Condition"]
    assert "task/chat/*" in str(by_action["ecs:DescribeTasks"]["Resource"])


def test_connections_allow_a_client(stack: cdk.Stack, service: InferenceService):
    other = ec2.SecurityGroup(stack, "Other", vpc=ec2.Vpc(stack, "Vpc", max_azs=1))
    service.connections.allow_default_port_from(other)  # pyright: ignore[reportArgumentType]
    rules = Template.from_stack(stack).find_resources("AWS::EC2::SecurityGroupIngress")
    assert any(
        body["Properties"]["SourceSecurityGroupId"] == stack.resolve(other.security_group_id)
        and body["Properties"]["FromPort"] == 80
        for body in rules.values()
    )


def test_outputs_of_a_service(hub: Served):
    outputs = {output["Description"]: output["Value"] for output in hub.template["Outputs"].values()}
    assert outputs["Value of model in requests"] == "llama"
    assert str(outputs["Base URL for OpenAI clients"]).endswith("/v1']]}")
    assert "get-secret-value" in str(outputs["Prints the API key"])
    assert len(outputs) == 8


def test_metrics_are_those_of_this_service(stack: cdk.Stack, service: InferenceService):
    math = service.metric_requests_in_task().to_metric_config().math_expression
    assert math is not None
    dimensions = [
        stack.resolve(metric.to_metric_config().metric_stat.dimensions)  # pyright: ignore[reportOptionalMemberAccess]
        for metric in math.using_metrics.values()
    ]
    assert dimensions
    for each in dimensions:
        assert {"name": "ServiceName", "value": "chat"} in each
    for metric in (
        service.metric_waiting(),
        service.metric_time_to_first_token(),
        service.metric_server_errors(),
        service.metric_unhealthy_hosts(),
    ):
        config = metric.to_metric_config()
        assert config.metric_stat or config.math_expression
