"""A model served behind a load balancer, by ECS on Neuron instances."""

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from llm_fleet.inference.alarm_thresholds import AlarmThresholds
from llm_fleet.inference.ec2_capacity import Ec2Capacity
from llm_fleet.inference.ec2_hosts import Ec2Hosts
from llm_fleet.inference.front import Front
from llm_fleet.inference.load_balancer_front import LoadBalancerFront
from llm_fleet.inference.managed_hosts import ManagedHosts
from llm_fleet.inference.model import Model
from llm_fleet.inference.model_check import ModelCheck
from llm_fleet.inference.model_server import ModelServer
from llm_fleet.inference.render_cluster import render_cluster
from llm_fleet.inference.render_service import render_service
from llm_fleet.inference.scaling import Scaling
from llm_fleet.inference.service_base import ServiceBase
from llm_fleet.inference.service_capacity import add_capacity
from llm_fleet.inference.service_forms import check_arguments
from llm_fleet.inference.service_log import ServiceLog
from llm_fleet.inference.service_plan import ServicePlan, region_of, service_name_of
from llm_fleet.inference.service_sight import ServiceSight, watch_devices
from llm_fleet.inference.serving_task import ServingTask
from llm_fleet.inference.sidecar_images import SidecarImages
from llm_fleet.network.network import Network
from llm_fleet.rules.inference.service import check_grace, check_log_days, check_service_name
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.problem import raise_problems


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
        *,
        network: Network,
        model: Model,
        hosts: Ec2Hosts | ManagedHosts,
        front: Front,
        server: ModelServer = ModelServer.tgi(),  # noqa: B008 - immutable
        scaling: Scaling = Scaling(),  # noqa: B008 - immutable
        service_name: str | None = None,
        encryption_key: kms.IKey | None = None,
        access_log_bucket: s3.IBucket | s3.Bucket | None = None,
        log_retention_days: int = 30,
        health_check_grace_seconds: int | None = None,
        execute_command: bool = False,
        alarm_topic: sns.ITopic | sns.Topic | None = None,
        alarm_thresholds: AlarmThresholds = AlarmThresholds(),  # noqa: B008 - immutable
        neuron_health: bool = True,
        replace_sick_hosts: bool = False,
        sidecar_images: SidecarImages = SidecarImages(),  # noqa: B008 - immutable
    ) -> None:
        """Make the service; raise `FleetError` with all that is wrong with it (LF700 to LF789).

        `network`: where it stands: hosts in the compute subnets of all its AZs, the load balancer in two AZs at least.

        `model`: what is served. `server`: what serves it. Default: TGI with its own defaults.

        `hosts`: on what: `Ec2Hosts` or `ManagedHosts`. A host holds one task, which has all its devices.

        `front`: how clients reach it; whether they may do so in plain HTTP must be said, so there is no default.

        `scaling`: how many tasks, and so hosts. Default: two, always.

        `service_name`: of the service, its cluster and its log group, and what clients write as `model` unless the
        model says otherwise. Default: one made of the construct's path, which stays the same.

        `encryption_key`: of the logs and the API key's secret; its policy must let CloudWatch Logs use it, as that of
        `FleetKey` does. Default: keys of AWS's own.

        `access_log_bucket`: where the load balancer writes who asked what. Default: a bucket of its own.

        `log_retention_days`: default 30. `health_check_grace_seconds`: for how long a new task may be unhealthy while
        it loads. Default: what the catalog says of a model of this size from where it is.

        `execute_command`: whether people may open a shell in a task by ECS Exec, which is then recorded in the log.
        Default: no; whoever has one has the model, the API key and the Hub's token.

        `alarm_topic`: who is told when an alarm goes off. Default: nobody, the alarms are only shown.
        `alarm_thresholds`: when they go off. Default: those of `AlarmThresholds`.

        `neuron_health`: whether a daemon watches the devices of EC2 hosts. Default: it does. `replace_sick_hosts`:
        whether a host with a sick device is ended and replaced. Default: no, it rings; the host ends without draining,
        and there may be no other to be had.

        `sidecar_images`: of what runs beside the server, for networks that cannot reach public registries.
        """
        super().__init__(scope, id)
        name = service_name_of(self, service_name)
        of_arguments = check_arguments(
            network=network,
            model=model,
            hosts=hosts,
            front=front,
            server=server,
            scaling=scaling,
            alarm_thresholds=alarm_thresholds,
            sidecar_images=sidecar_images,
            execute_command=execute_command,
            neuron_health=neuron_health,
            replace_sick_hosts=replace_sick_hosts,
        )
        if of_arguments:
            # Parts check themselves; what only the whole can tell cannot be told of one that is none.
            numbers = [*check_log_days(log_retention_days), *check_grace(health_check_grace_seconds)]
            raise_problems([*of_arguments, *check_service_name(name), *numbers], subject=self.node.path)
        plan = ServicePlan(
            name=name,
            region=region_of(self),
            server=server,
            model=model,
            hosts=hosts,
            scaling=scaling,
            front=front,
            neuron_health=neuron_health,
            replace_sick_hosts=replace_sick_hosts,
        )
        plan.check(
            network,
            log_days=log_retention_days,
            grace_seconds=health_check_grace_seconds,
            images=sidecar_images,
            subject=self.node.path,
        )
        self.service_name = plan.name
        self.model_name = plan.served_name
        log = ServiceLog(
            self, "Logs", service_name=plan.name, retention_days=log_retention_days, encryption_key=encryption_key
        )
        self.log_group = log.log_group
        self.cluster: ecs.CfnCluster = render_cluster(self, plan.name, log=log, record_shells=execute_command)
        """Its ECS cluster."""
        grace_seconds = health_check_grace_seconds or plan.load_seconds()
        process = plan.process(cdk.Stack.of(self), load_seconds=grace_seconds)
        self.front = LoadBalancerFront(
            self,
            "Front",
            network=network,
            front=front,
            server=server.kind,
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
            images=sidecar_images,
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
            topic=cast(sns.ITopic | None, alarm_topic),
            thresholds=alarm_thresholds,
        )
        self.neuron_health = watch_devices(
            self,
            plan,
            capacity=self.capacity,
            cluster=self.cluster,
            task=self.task,
            log=log,
            images=sidecar_images,
        )
        """The daemon that watches the devices; `None` without one."""

    def _check_model(self, plan: ServicePlan, encryption_key: kms.IKey | None) -> None:
        """Look at a model in S3 before any host is paid for."""
        if plan.model.source is ModelSource.S3:
            check = ModelCheck(
                self, "ModelCheck", model=plan.model, asked=plan.asked, log_encryption_key=encryption_key
            )
            self.capacity.node.add_dependency(check)
