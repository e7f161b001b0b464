"""What others may do with an inference service."""

from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import IConstruct

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, raise_problems


class GrantedService(Protocol):
    """A service that something can be granted on."""

    @property
    def cluster_name(self) -> str:
        """Its ECS cluster."""
        ...

    @property
    def service_name(self) -> str:
        """Its name."""
        ...

    @property
    def service_arn(self) -> str:
        """Its ARN."""
        ...

    @property
    def api_key_secret(self) -> secretsmanager.ISecret | None:
        """What clients must show, where that is a key."""
        ...


class ServiceGrants:
    """What others may do with a service. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, scope: IConstruct, service: GrantedService) -> None:
        """Grant on `service`, in the stack of `scope`."""
        self._scope = scope
        self._stack = cdk.Stack.of(scope)
        self._service = service

    def read_api_key(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` read the API key that clients show, and decrypt it.

        Raises `FleetError` (LF764) for a service that asks for no key.
        """
        secret = self._service.api_key_secret
        if secret is None:
            problem = Problem(
                code=Code.SERVICE_WITHOUT_KEY,
                message="this service asks its clients for no API key, so there is none to read",
                path=("front", "authentication"),
                remedy="leave the grant out, or give the Front Authentication.API_KEY",
            )
            raise_problems([problem], subject=self._scope.node.path)
        assert secret is not None
        return secret.grant_read(grantee)

    def describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the service, its deployments and its tasks."""
        service = iam.Grant.add_to_principal(
            grantee=grantee, actions=["ecs:DescribeServices"], resource_arns=[self._service.service_arn]
        )
        tasks = self._stack.format_arn(service="ecs", resource="task", resource_name=f"{self._service.cluster_name}/*")
        return service.combine(
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["ecs:DescribeTasks"],
                resource_arns=[tasks],
            )
        ).combine(
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["ecs:ListTasks"],
                resource_arns=["*"],
                conditions={"ArnEquals": {"ecs:cluster": self._cluster_arn}},
            )
        )

    def redeploy(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the service and replace its tasks, as `aws ecs update-service --force-new-deployment` does.

        It may also change what else `UpdateService` changes; IAM cannot tell those apart.
        """
        update = iam.Grant.add_to_principal(
            grantee=grantee, actions=["ecs:UpdateService"], resource_arns=[self._service.service_arn]
        )
        return self.describe(grantee).combine(update)

    @property
    def _cluster_arn(self) -> str:
        return self._stack.format_arn(service="ecs", resource="cluster", resource_name=self._service.cluster_name)
