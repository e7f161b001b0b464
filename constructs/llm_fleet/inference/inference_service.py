"""A model served behind a load balancer, by ECS on Neuron instances."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from llm_fleet.inference.ec2_capacity import Ec2Capacity
from llm_fleet.inference.load_balancer_front import LoadBalancerFront
from llm_fleet.inference.model_check import ModelCheck
from llm_fleet.inference.render_cluster import render_cluster
from llm_fleet.inference.render_service import render_service
from llm_fleet.inference.service_base import ServiceBase
from llm_fleet.inference.service_capacity import add_capacity
from llm_fleet.inference.service_log import ServiceLog
from llm_fleet.inference.service_plan import NETWORK, ServicePlan, region_of, service_name_of
from llm_fleet.inference.service_sight import ServiceSight, watch_devices
from llm_fleet.inference.serving_task import ServingTask
from llm_fleet.network.network import Network
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.inference.forms import check_form
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.served_model import ModelSource
from llm_fleet.spec.service import ServiceSpec


class InferenceService(ServiceBase):
    """An OpenAI-compatible endpoint for one model: a load balancer, an ECS service, and Neuron instances under it.

    What would fail only once it is deployed is checked when the construct is made, and told at once in one
    `FleetError`, before any resource is in the template: a model that does not fit, a server that does not run on the
    instance, a host driver that the server's runtime refuses. It is an `ec2.IConnectable` (its load balancer).
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
        """Make `service`; raise `FleetError` with all that is wrong with it (LF700 to LF789).

        - `network`: where it stands: hosts in the compute subnets of all its AZs, the load balancer in two AZs at
          least.
        - `encryption_key`: of the logs and the API key's secret; its policy must let CloudWatch Logs use it, as that of
          `FleetKey` does. Default: keys of AWS's own.
        - `access_log_bucket`: where the load balancer writes who asked what. Default: a bucket of its own.
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
        """What it was made of."""
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
        """The hosts under it."""
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
        """The task definition with its roles and its security group."""
        self.front.allow_targets(self.task.security_group)
        self.service = render_service(
            self,
            plan,
            network=network,
            cluster_name=self.cluster.ref,
            task_definition_arn=self.task.definition.ref,
            capacity=self.capacity,
            security_group_id=self.task.security_group.security_group_id,
            target_group_arn=self.front.target_group_arn,
            port=process.port,
            grace_seconds=grace_seconds,
            execute_command=execute_command,
        )
        # Gone before any of these goes, and not there before all of these are: a service without its capacity provider
        # or its listener is refused, and hosts that go first leave tasks behind that nobody can stop.
        needed = [self.capacity.dependencies, self.front.dependencies, self.task, network.connectivity]
        self.service.node.add_dependency(*needed)
        if isinstance(self.capacity, Ec2Capacity) and self.capacity.first_host is not None:
            # Its time begins when the service's tasks ask for hosts.
            self.capacity.first_host.node.add_dependency(*needed)
        self.sight = ServiceSight(
            self,
            "Sight",
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
        """The daemon that watches the devices; `None` without one."""

    def _check_model(self, plan: ServicePlan, encryption_key: kms.IKey | None) -> None:
        """Look at a model in S3 before any host is paid for."""
        if plan.model.source is ModelSource.S3:
            check = ModelCheck(
                self, "ModelCheck", model=plan.model, asked=plan.asked, log_encryption_key=encryption_key
            )
            self.capacity.node.add_dependency(check)
