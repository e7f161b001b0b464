"""What others may do with a service."""

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from llm_fleet import Authentication, FleetError, Front, InferenceService
from llm_fleet.rules.codes import Code
from tests.inference.service.conftest import MakeService, Served


@pytest.fixture
def service(make: MakeService) -> InferenceService:
    return make(name="chat")


@pytest.fixture
def role(stack: cdk.Stack) -> iam.Role:
    return iam.Role(stack, "Somebody", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))  # pyright: ignore[reportArgumentType]


def statements(stack: cdk.Stack) -> list[dict[str, Any]]:
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    (own,) = [body for name, body in policies.items() if name.startswith("Somebody")]
    return own["Properties"]["PolicyDocument"]["Statement"]


def test_reading_the_key(stack: cdk.Stack, service: InferenceService, role: iam.Role):
    assert service.grants.read_api_key(role).success
    (statement,) = statements(stack)
    assert "secretsmanager:GetSecretValue" in statement["Action"]
    assert service.api_key_secret is not None
    assert statement["Resource"] == stack.resolve(service.api_key_secret.secret_arn)


def test_there_may_be_no_key_to_read(make: MakeService, role: iam.Role):
    service = make(front=Front(plain_http=True, authentication=Authentication.NONE))
    assert service.api_key_secret is None
    with pytest.raises(FleetError) as refused:
        service.grants.read_api_key(role)
    assert [problem.code for problem in refused.value.problems] == [Code.SERVICE_WITHOUT_KEY]


def test_seeing_and_replacing(stack: cdk.Stack, service: InferenceService, role: iam.Role):
    service.grants.redeploy(role)
    by_action = {str(each["Action"]): each for each in statements(stack)}
    assert set(by_action) == {"ecs:DescribeServices", "ecs:DescribeTasks", "ecs:ListTasks", "ecs:UpdateService"} or (
        set(by_action) == {"['ecs:DescribeServices', 'ecs:UpdateService']", "ecs:DescribeTasks", "ecs:ListTasks"}
    )
    for action, statement in by_action.items():
        assert statement["Resource"] != "*" or action == "ecs:ListTasks"
    assert "ArnEquals" in by_action["ecs:ListTasks"]["Condition"]
    assert "task/chat/*" in str(by_action["ecs:DescribeTasks"]["Resource"])


def test_who_may_come_in(stack: cdk.Stack, service: InferenceService):
    other = ec2.SecurityGroup(stack, "Other", vpc=ec2.Vpc(stack, "Vpc", max_azs=1))
    service.connections.allow_default_port_from(other)  # pyright: ignore[reportArgumentType]
    rules = Template.from_stack(stack).find_resources("AWS::EC2::SecurityGroupIngress")
    assert any(
        body["Properties"]["SourceSecurityGroupId"] == stack.resolve(other.security_group_id)
        and body["Properties"]["FromPort"] == 80
        for body in rules.values()
    )


def test_outputs(hub: Served):
    outputs = {output["Description"]: output["Value"] for output in hub.template["Outputs"].values()}
    assert outputs["What clients write as model"] == "llama"
    assert str(outputs["Base URL for OpenAI clients"]).endswith("/v1']]}")
    assert "get-secret-value" in str(outputs["Prints the API key"])
    assert len(outputs) == 8


def test_metrics_are_of_this_service_alone(stack: cdk.Stack, service: InferenceService):
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
