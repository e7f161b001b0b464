"""The task of a service: its definition, the roles that it acts with, and its security group."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.iam.statements import Permission
from llm_fleet.inference.check_container import check_container
from llm_fleet.inference.ecs_role import EcsRole
from llm_fleet.inference.image_repository import repository_arn, server_repository_arn
from llm_fleet.inference.metrics_collector import collector_container, collector_permissions
from llm_fleet.inference.model_mount import model_mount, model_mounts, model_path
from llm_fleet.inference.server_process import ServerProcess
from llm_fleet.inference.service_log import ServiceLog
from llm_fleet.inference.service_permissions import execution_permissions, shell_permissions
from llm_fleet.inference.service_plan import ServicePlan
from llm_fleet.inference.task_definition import render_task_definition
from llm_fleet.network.network import Network

_HTTPS = 443


class ServingTask(Construct):
    """One server with all devices of its host. What it may do in AWS is what its collector needs, and nothing else.

    The model in S3 is read by the host, so the task's role has no S3; secrets are read by the role that starts it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plan: ServicePlan,
        process: ServerProcess,
        network: Network,
        compatibility: str,
        cluster_name: str,
        log: ServiceLog,
        api_key: secretsmanager.ISecret | None,
        execute_command: bool,
    ) -> None:
        """Make it. `compatibility`: of the capacity that it is for. `api_key`: what clients must show, if anything."""
        super().__init__(scope, id)
        security_group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=network.vpc,
            description=f"Tasks of the inference service {plan.name}",
            allow_all_outbound=False,
        )
        # The Hub, CloudWatch and Session Manager speak HTTPS; a server has no business at any other port.
        security_group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(_HTTPS), "HTTPS to AWS and the Hub")
        self.security_group: ec2.ISecurityGroup = security_group
        """Lets the load balancer in, and HTTPS out."""
        secrets = _secrets(plan, process, api_key)
        self._task_role = EcsRole(
            self,
            "TaskRole",
            description=f"What the tasks of the inference service {plan.name} may do",
            permissions=[
                *collector_permissions(log_group_arn=log.group_arn),
                *(shell_permissions(log_group_arn=log.arn) if execute_command else ()),
            ],
        )
        self._execution_role = EcsRole(
            self,
            "ExecutionRole",
            description=f"What ECS may do to start a task of the inference service {plan.name}",
            permissions=self._to_start(plan, process, log, api_key, list(secrets.values())),
        )
        mounts = model_mounts(model_mount(plan.model))
        check = check_container(
            source=plan.model.source,
            path=model_path(plan.model),
            asked=plan.asked,
            image=process.image,
            mount_points=mounts,
            log=log.driver("task"),
        )
        collector = collector_container(
            self,
            server=plan.server.kind,
            port=process.port,
            metrics_path=process.metrics_path,
            cluster_name=cluster_name,
            service_name=plan.name,
            log_group_name=log.log_group.ref,
            image=plan.spec.sidecar_images.image("collector"),
            log=log.driver("task"),
        )
        self.definition: ecs.CfnTaskDefinition = render_task_definition(
            self,
            plan,
            process,
            compatibility=compatibility,
            check=check,
            sidecars=[collector],
            secrets=secrets,
            log=log.driver("task"),
            task_role=self._task_role,
            execution_role=self._execution_role,
        )
        """The L1 beneath."""

    @property
    def role(self) -> iam.IRole:
        """What the containers act with."""
        return self._task_role.role

    @property
    def execution_role(self) -> iam.IRole:
        """What ECS acts with to start a task: grant it a repository whose name is a token, or a secret's key."""
        return self._execution_role.role

    @property
    def permissions(self) -> dict[str, tuple[Permission, ...]]:
        """The statements of both roles, each with its reason: `task` and `execution`."""
        return {"task": self._task_role.permissions, "execution": self._execution_role.permissions}

    def _to_start(
        self,
        plan: ServicePlan,
        process: ServerProcess,
        log: ServiceLog,
        api_key: secretsmanager.ISecret | None,
        secret_arns: list[str],
    ) -> tuple[Permission, ...]:
        stack = cdk.Stack.of(self)
        repositories = [
            server_repository_arn(plan.server.kind, process, stack),
            *(repository_arn(image, partition=stack.partition) for _, image in plan.spec.pulled()),
        ]
        key = api_key.encryption_key if api_key else None
        return execution_permissions(
            repositories=[arn for arn in repositories if arn is not None],
            log_group_arn=log.arn,
            secret_arns=secret_arns,
            key_arns=[key.key_arn] if key else [],
        )


def _secrets(plan: ServicePlan, process: ServerProcess, api_key: secretsmanager.ISecret | None) -> dict[str, str]:
    """Return the secrets of the server by the environment variable that gets each."""
    secrets = {} if api_key is None else {process.api_key_variable: api_key.secret_arn}
    if plan.model.token_secret_arn is not None:
        secrets[process.hub_token_variable] = plan.model.token_secret_arn
    return secrets
