"""Checks for errors that AWS accepts, or reports only when a job or an endpoint starts. Each returns its findings."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.assembly.assembly import Assembly, Json, Resource

_FULL_NAMES = {"TargetGroup": "TargetGroupFullName", "LoadBalancer": "LoadBalancerFullName"}
_PULLS = frozenset({"ecr:GetAuthorizationToken", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"})
_IMAGE = re.compile(r"\.dkr\.ecr\.([a-z0-9-]+)\.")
_OF_THE_REGION = ("AWS::SageMaker::", "AWS::StepFunctions::")
_ROLES = {
    "AWS::Budgets::BudgetsAction": ("ExecutionRoleArn", "budgets.amazonaws.com"),
    "AWS::EC2::FlowLog": ("DeliverLogsPermissionArn", "vpc-flow-logs.amazonaws.com"),
    "AWS::ECS::TaskDefinition": ("TaskRoleArn", "ecs-tasks.amazonaws.com"),
    "AWS::Lambda::Function": ("Role", "lambda.amazonaws.com"),
    "AWS::SageMaker::Model": ("ExecutionRoleArn", "sagemaker.amazonaws.com"),
    "AWS::SageMaker::NotebookInstance": ("RoleArn", "sagemaker.amazonaws.com"),
    "AWS::Scheduler::Schedule": ("Target.RoleArn", "scheduler.amazonaws.com"),
    "AWS::StepFunctions::StateMachine": ("RoleArn", "states.amazonaws.com"),
}
"""Type of a resource: the property with the role that its service assumes, and the service."""


def short_names_in_alarms(assembly: Assembly) -> list[str]:
    """Return each alarm that names a load balancer or its targets by anything but the full name, such as the ARN.

    CloudWatch accepts any text, and an alarm on a metric that is never published has no data.
    Source: document https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-cloudwatch-
    metrics.html
    """
    return [
        f"{alarm.place}: {dimension['Name']} is {named}"
        for alarm in _of_type(assembly, "AWS::CloudWatch::Alarm")
        for dimension in _dimensions(alarm.properties)
        if (wanted := _FULL_NAMES.get(dimension["Name"]))
        and not str(named := assembly.resolve(dimension["Value"], alarm.stack)).endswith(f".{wanted}")
    ]


def images_not_pulled(assembly: Assembly) -> list[str]:
    """Return each SageMaker model whose role has no permission to pull its image; the endpoint fails to start.

    Source: document https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-roles.html (CreateModel API)
    """
    return [
        f"{model.place}: {role.place} lacks {', '.join(sorted(lacks))}"
        for model in _of_type(assembly, "AWS::SageMaker::Model")
        if (role := _role(assembly, model, "ExecutionRoleArn"))
        and (lacks := _PULLS - {action for one in _statements(assembly, role) for action in _listed(one["Action"])})
    ]


def images_of_other_regions(assembly: Assembly) -> list[str]:
    """Return each SageMaker image in the registry of another Region, from which SageMaker does not pull.

    Source: document https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ContainerDefinition.html: the image
    "must be in the same region as the model or endpoint you are creating"
    Source: recorded https://github.com/aws-samples/mlops-amazon-sagemaker/issues/9 (CreateTrainingJob)
    """
    return [
        f"{resource.place}: an image of {region}"
        for resource in assembly.resources
        if resource.type.startswith(_OF_THE_REGION)
        for region in sorted(set(_IMAGE.findall(json.dumps(resource.properties))))
        if region != assembly.regions[resource.stack]
    ]


def roles_of_other_services(assembly: Assembly) -> list[str]:
    """Return each role of the assembly whose trust policy does not allow the service that uses it.

    Source: document https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_create_for-service.html
    """
    return [
        f"{resource.place}: {role.place} does not trust {service}"
        for resource in _of_type(assembly, *_ROLES)
        for place, service in [_ROLES[resource.type]]
        if (role := _role(assembly, resource, place)) and service not in _trusted(role)
    ]


SILENT_CHECKS = (short_names_in_alarms, images_not_pulled, images_of_other_regions, roles_of_other_services)
"""The checks of every assembly."""


def _of_type(assembly: Assembly, *types: str) -> Iterator[Resource]:
    return (resource for resource in assembly.resources if resource.type in types)


def _dimensions(alarm: Json) -> Iterator[Json]:
    yield from alarm.get("Dimensions", ())
    for query in alarm.get("Metrics", ()):
        yield from query.get("MetricStat", {}).get("Metric", {}).get("Dimensions", ())


def _role(assembly: Assembly, resource: Resource, place: str) -> Resource | None:
    """Return the role at `place` of the properties, if the assembly contains it."""
    value: Any = resource.properties
    for name in place.split("."):
        value = value.get(name, {})
    return assembly.by_place.get(str(assembly.resolve(value, resource.stack)).removesuffix(".Arn"))


def _statements(assembly: Assembly, role: Resource) -> Iterator[Json]:
    """Yield the statements of all policies of the role in the assembly."""
    own = role.properties
    for policy in own.get("Policies", ()):
        yield from policy["PolicyDocument"]["Statement"]
    managed = assembly.resolve(own.get("ManagedPolicyArns", []), role.stack)
    for policy in _of_type(assembly, "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        roles = assembly.resolve(policy.properties.get("Roles", []), policy.stack)
        if role.place in roles or policy.place in managed:
            yield from policy.properties["PolicyDocument"]["Statement"]


def _trusted(role: Resource) -> list[str]:
    statements = role.properties["AssumeRolePolicyDocument"]["Statement"]
    return [service for one in statements for service in _listed(one["Principal"].get("Service", []))]


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value
