"""A model served behind a load balancer by ECS on Neuron instances."""

from typing import cast

import aws_cdk as cdk
import jsii
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.inference.capacity import Ec2Capacity, add_capacity
from llm_fleet.inference.cluster import ServiceLog, render_cluster
from llm_fleet.inference.front import LoadBalancerFront
from llm_fleet.inference.model import ModelCheck
from llm_fleet.inference.service_monitoring import ServiceMonitoring, watch_devices
from llm_fleet.inference.service_plan import NETWORK, ServicePlan, service_name_of
from llm_fleet.inference.task import SERVER, ServingTask
from llm_fleet.network.network import Network
from llm_fleet.references import add_outputs, region_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import check_form, check_is_spec
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.spec.model_shape import ModelSource
from llm_fleet.spec.service import ServiceSpec
from llm_fleet.spec.spec import in_request

_ALL = 100


def least_healthy_percent(tasks: int) -> int:
    """Return `minimumHealthyPercent` for `tasks`: all but one task keep running, or none of one.

    A host's accelerator is for one task, and another accelerator may be unavailable: an update that must start a task
    before it stops one would wait forever. ECS rounds up to whole tasks, so this rounds down.
    """
    return _ALL * (tasks - 1) // tasks


class ServiceGrants:
    """Grants on a service. Each method returns the `Grant`; its `success` is `False` for an imported role."""

    def __init__(self, service: "ServiceBase") -> None:
        """Create grants on `service`, in its stack."""
        self._stack = cdk.Stack.of(service)
        self._service = service

    def read_api_key(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` read and decrypt the API key.

        Raises `FleetError` (LF764) for a service without an API key.
        """
        secret = self._service.api_key_secret
        if secret is None:
            problem = Problem(
                code=Code.SERVICE_WITHOUT_KEY,
                message="this service has no API key",
                path=("front", "authentication"),
                remedy="remove the grant, or set Authentication.API_KEY in the Front",
            )
            raise_problems([problem], subject=self._service.node.path)
        assert secret is not None
        return secret.grant_read(grantee)

    def describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the service, its deployments and its tasks."""
        name = self._service.cluster_name
        cluster = self._stack.format_arn(service="ecs", resource="cluster", resource_name=name)
        tasks = self._stack.format_arn(service="ecs", resource="task", resource_name=f"{name}/*")
        add = iam.Grant.add_to_principal
        service = add(grantee=grantee, actions=["ecs:DescribeServices"], resource_arns=[self._service.service_arn])
        return service.combine(add(grantee=grantee, actions=["ecs:DescribeTasks"], resource_arns=[tasks])).combine(
            add(
                grantee=grantee,
                actions=["ecs:ListTasks"],
                resource_arns=["*"],
                conditions={"ArnEquals": {"ecs:cluster": cluster}},
            )
        )

    def redeploy(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the service and replace its tasks (`aws ecs update-service --force-new-deployment`).

        This includes all other changes of `UpdateService`, which IAM cannot limit.
        """
        update = iam.Grant.add_to_principal(
            grantee=grantee, actions=["ecs:UpdateService"], resource_arns=[self._service.service_arn]
        )
        return self.describe(grantee).combine(update)


@jsii.implements(ec2.IConnectable)
class ServiceBase(Construct):
    """The attributes and grants of a service, which `InferenceService` sets."""

    service_name: str
    """Its name, and its cluster's."""
    model_name: str
    """Value of `model` in requests of clients."""
    front: LoadBalancerFront
    """The load balancer with security group, listeners, API key, AWS WAF and logs."""
    service: ecs.CfnService
    """The L1 construct of the ECS service."""
    log_group: logs.CfnLogGroup
    """Log group of its hosts and containers."""
    monitoring: ServiceMonitoring
    """Its metrics, alarms, dashboard and scaling."""
    _connections: ec2.Connections | None = None

    @property
    def url(self) -> str:
        """Base URL of clients; it ends with `/v1`. A CDK token, unless the front has a `domain_name`."""
        return self.front.url

    @property
    def api_key_secret(self) -> secretsmanager.ISecret | None:
        """The secret whose value is the API key; `None` without one."""
        return self.front.api_key_secret

    @property
    def cluster_name(self) -> str:
        """Name of its ECS cluster."""
        return self.service_name

    @property
    def service_arn(self) -> str:
        """ARN of the ECS service, a CDK token."""
        return self.service.ref

    @property
    def grants(self) -> ServiceGrants:
        """Grants for other roles and users."""
        return ServiceGrants(self)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """The load balancer's security group, with its port as default port, for ingress rules."""
        if self._connections is None:
            port = ec2.Port.tcp(int(self.front.listener.port or 0))
            self._connections = ec2.Connections(security_groups=[self.front.security_group], default_port=port)
        return self._connections

    def metric_waiting(self) -> cloudwatch.IMetric:
        """Return the average number of waiting requests per task."""
        return self.monitoring.metrics.waiting().as_cloudwatch()

    def metric_requests_in_task(self) -> cloudwatch.IMetric:
        """Return the average number of requests per task, waiting and running: the scaling metric."""
        return self.monitoring.metrics.requests_in_task().as_cloudwatch()

    def metric_time_to_first_token(self) -> cloudwatch.IMetric:
        """Return the average seconds until the first token."""
        return self.monitoring.metrics.time_to_first_token().as_cloudwatch()

    def metric_server_errors(self) -> cloudwatch.IMetric:
        """Return the number of 5xx responses of servers."""
        return self.monitoring.metrics.server_errors().as_cloudwatch()

    def metric_unhealthy_hosts(self) -> cloudwatch.IMetric:
        """Return the number of tasks that failed the load balancer's health checks."""
        return self.monitoring.metrics.unhealthy_hosts().as_cloudwatch()

    def add_outputs(self) -> None:
        """Add stack outputs: base URL, model name, a command that prints the key, and names of resources."""
        key = self.api_key_secret
        outputs = {
            "Url": (self.url, "Base URL for OpenAI clients"),
            "ModelName": (self.model_name, "Value of model in requests"),
            "ApiKeySecretArn": (key.secret_arn if key else None, "Secret whose value is the API key"),
            "ApiKeyCommand": (self.front.key_command, "Prints the API key"),
            "LoadBalancerDnsName": (self.front.load_balancer_dns_name, "Target of your own DNS record"),
            "ClusterName": (self.cluster_name, "Name of the ECS cluster"),
            "ServiceName": (self.service.attr_name, "Name of the ECS service"),
            "LogGroupName": (self.log_group.ref, "CloudWatch log group of hosts and containers"),
        }
        add_outputs(self, outputs)


class InferenceService(ServiceBase):
    """An OpenAI-compatible endpoint for one model: a load balancer, an ECS service, and Neuron instances.

    The constructor checks what would otherwise fail only at deployment, and raises all problems in one `FleetError`
    before it adds a resource to the template: a model that does not fit, a server that does not support the instance, a
    host driver that the server's runtime does not support. It is an `ec2.IConnectable` (its load balancer).
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        service: ServiceSpec,
        *,
        network: Network,
        encryption_key: kms.IKey | None = None,
        access_log_bucket: s3.IBucket | s3.Bucket | None = None,
    ) -> None:
        """Create `service`. Raises `FleetError` with all problems (LF700 to LF789).

        - `network`: hosts are in the compute subnets of all its AZs, the load balancer in at least two AZs.
        - `encryption_key`: encrypts the logs and the API key; its policy must let CloudWatch Logs use it, as that of
          `FleetKey` does. Default: keys that AWS owns.
        - `access_log_bucket`: for the load balancer's access logs. Default: a new one.
        """
        super().__init__(scope, id)
        raise_problems(
            [*check_is_spec(service, ServiceSpec, "service"), *check_form(network, NETWORK, "network")],
            subject=self.node.path,
        )
        plan = ServicePlan(spec=service, name=service_name_of(self, service.name), region=region_of(self))
        plan.check(network, subject=self.node.path)
        execute_command = service.execute_command
        self.spec = service
        """The specification."""
        self.service_name = plan.name
        self.model_name = plan.served_name
        log = ServiceLog(
            self,
            "Logs",
            service_name=plan.name,
            retention_days=service.log_retention_days,
            encryption_key=encryption_key,
        )
        self.log_group = log.log_group
        self.cluster: ecs.CfnCluster = render_cluster(self, plan.name, log=log, record_shells=execute_command)
        """Its ECS cluster."""
        grace_seconds = service.health_check_grace_seconds or plan.load_seconds()
        process = plan.process(cdk.Stack.of(self), load_seconds=grace_seconds)
        self.front = LoadBalancerFront(
            self,
            "Front",
            network=network,
            front=service.front,
            server=service.server.kind,
            served_name=plan.served_name,
            target_port=process.port,
            health_path=process.health_path,
            service_name=plan.name,
            encryption_key=encryption_key,
            access_log_bucket=cast(s3.IBucket | None, access_log_bucket),
        )
        self.capacity = add_capacity(self, plan, network=network, cluster=self.cluster, log=log)
        """The capacity for its tasks."""
        self._check_model(plan, encryption_key)
        self.task = ServingTask(
            self,
            "Task",
            plan=plan,
            process=process,
            network=network,
            compatibility=self.capacity.compatibility,
            cluster_name=self.cluster.ref,
            log=log,
            api_key=self.front.api_key_secret,
            execute_command=execute_command,
        )
        """The task definition with its roles and security group."""
        self.front.allow_targets(self.task.security_group)
        self.service = self._make_service(plan, network, port=process.port, grace_seconds=grace_seconds)
        # Created after and deleted before all of these: ECS rejects a service without its capacity provider or its
        # listener, and if hosts are deleted first, their tasks cannot be stopped.
        needed = [self.capacity.dependencies, self.front.dependencies, self.task, network.connectivity]
        self.service.node.add_dependency(*needed)
        if isinstance(self.capacity, Ec2Capacity) and self.capacity.first_host is not None:
            # Its timeout starts when the service's tasks need hosts.
            self.capacity.first_host.node.add_dependency(*needed)
        self.monitoring = ServiceMonitoring(
            self,
            "Sight",  # codespell:ignore sight
            plan=plan,
            service=self.service,
            cluster=self.cluster,
            front=self.front,
            log=log,
        )
        self.neuron_health = watch_devices(
            self,
            plan,
            capacity=self.capacity,
            cluster=self.cluster,
            task=self.task,
            log=log,
        )
        """The daemon that monitors Neuron devices; `None` without one."""

    def _check_model(self, plan: ServicePlan, encryption_key: kms.IKey | None) -> None:
        """Check a model in S3 before any host starts."""
        if plan.model.source is ModelSource.S3:
            check = ModelCheck(
                self, "ModelCheck", model=plan.model, requested=plan.requested, log_encryption_key=encryption_key
            )
            self.capacity.node.add_dependency(check)

    def _make_service(self, plan: ServicePlan, network: Network, *, port: int, grace_seconds: int) -> ecs.CfnService:
        """Return the service; metadata of plain fields of the specification have the property name.

        Tasks are replaced one by one, without additional hosts, with a rollback if they do not start. This excludes AZ
        rebalancing, which starts a task before it stops one.
        """
        tasks, of_fields = plan.spec.tasks, in_request(plan.spec)
        deployment = of_fields.pop("deployment_configuration", {})
        return ecs.CfnService(
            self,
            "Service",
            service_name=plan.name,
            cluster=self.cluster.ref,
            task_definition=self.task.definition.ref,
            # With scaling, a fixed number would reset the number of tasks at every update of the service.
            desired_count=None if tasks.scales else tasks.desired,
            capacity_provider_strategy=[
                ecs.CfnService.CapacityProviderStrategyItemProperty(
                    capacity_provider=self.capacity.capacity_provider_name, weight=1
                )
            ],
            placement_constraints=self.capacity.placement_constraints or None,
            deployment_configuration=ecs.CfnService.DeploymentConfigurationProperty(
                minimum_healthy_percent=least_healthy_percent(tasks.minimum),
                maximum_percent=_ALL,
                deployment_circuit_breaker=ecs.CfnService.DeploymentCircuitBreakerProperty(enable=True, rollback=True),
                **deployment,
            ),
            availability_zone_rebalancing="DISABLED",
            health_check_grace_period_seconds=grace_seconds,
            load_balancers=[
                ecs.CfnService.LoadBalancerProperty(
                    container_name=SERVER, container_port=port, target_group_arn=self.front.target_group_arn
                )
            ],
            network_configuration=ecs.CfnService.NetworkConfigurationProperty(
                awsvpc_configuration=ecs.CfnService.AwsVpcConfigurationProperty(
                    subnets=[subnet.subnet_id for subnet in network.compute_subnets.values()],
                    security_groups=[self.task.security_group.security_group_id],
                    assign_public_ip="DISABLED",
                )
            ),
            enable_ecs_managed_tags=True,
            propagate_tags="SERVICE",
            tags=[cdk.CfnTag(key="Name", value=plan.name)],
            **of_fields,
        )
