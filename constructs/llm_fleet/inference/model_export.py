"""Compiles a model for Neuron into its place in S3, in the image that will serve it."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.model_server import tools_image as default_tools_image
from llm_fleet.catalog.neuron import NeuronInstance, neuron_instance
from llm_fleet.iam.statements import Permission
from llm_fleet.inference.ecs_role import EcsRole
from llm_fleet.inference.export_capacity import ExportCapacity, fargate_capacity, host_capacity
from llm_fleet.inference.export_containers import WORK_VOLUME, ExportJob, export_containers
from llm_fleet.inference.export_permissions import export_permissions
from llm_fleet.inference.host_security_group import HostSecurityGroup
from llm_fleet.inference.image_repository import repository_arn, server_repository_arn
from llm_fleet.inference.model_mount import model_path
from llm_fleet.inference.render_cluster import render_cluster
from llm_fleet.inference.server_process import ServerProcess, server_process
from llm_fleet.inference.service_log import ServiceLog
from llm_fleet.inference.service_permissions import execution_permissions
from llm_fleet.inference.service_plan import region_of, service_name_of
from llm_fleet.network.network import Network
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.inference.export import check_export_of, export_host
from llm_fleet.rules.inference.model import asked_of_model
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.service import ExportSpec, ServiceSpec


class ModelExport(Construct):
    """A task, run by hand, that exports a checkpoint for Neuron and writes it to S3, with a note of what it is for.

    `run_command` starts it: `aws ecs run-task …`. It fetches the checkpoint, exports it in the server's own image,
    since code of another compiler is refused, compares what came out with what the server will ask for, and only then
    copies it to S3, the note `llm-fleet-model.json` last. It takes half an hour for a model of 7B and hours for one of
    70B. Between exports there is no host and nothing to pay but the log.

    What was compiled is in the note: target, tensor parallelism, batch, sequence, compiler, image and checkpoint. The
    service's `ModelCheck`, and each task, compare it with what the server asks for.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        export: ExportSpec,
        *,
        service: ServiceSpec,
        network: Network,
        name: str | None = None,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Make the task, its role, and where it runs. Raises `FleetError` (LF722, LF723, and those of the parts).

        - `export`: the checkpoint, and what it is exported on. Default: the smallest type of the service's family whose
          host memory and cores are enough, since a host that can serve an exported model often cannot export it:
          `inf2.xlarge` has 16 GiB. On Fargate whether the code that comes out is the same as that of a Neuron host the
          makers of the image have not said.
        - `service`: what will serve it: its model is where it goes, its server's sizes and image are what is compiled
          for; without `tensor_parallel` all cores of its instance type count.
        - `name`: default, made of the construct's path.
        - `encryption_key`: of the log. Default: CloudWatch Logs' own.
        """
        subject = f"{scope.node.path}/{id}"
        raise_problems(
            [*check_is_spec(export, ExportSpec, "export"), *check_is_spec(service, ServiceSpec, "service")],
            subject=subject,
        )
        region = region_of(scope)
        problems = check_export_of(service, export, region=region, internet=network.internet)
        raise_problems(problems, subject=subject)
        super().__init__(scope, id)
        stack = cdk.Stack.of(self)
        self.name: str = service_name_of(self, name)
        """Its name, also of its cluster and family of task definitions."""
        log = ServiceLog(
            self,
            "Logs",
            service_name=self.name,
            retention_days=service.log_retention_days,
            encryption_key=encryption_key,
        )
        self.cluster: ecs.CfnCluster = render_cluster(self, self.name, log=log, record_shells=False)
        """The cluster, which has nothing else in it."""
        self._capacity = self._place(service, export, network, log)
        self.security_group: ec2.ISecurityGroup = HostSecurityGroup(self, "TaskSecurityGroup", vpc=network.vpc)
        """The task's own group: nothing in, HTTPS out."""
        self._subnets = list(network.compute_subnets.values())
        process = self._process(service, stack)
        job = ExportJob(
            source=export.source,
            model=service.model,
            server=service.server,
            image=process.image,
            tools_image=export.tools_image or default_tools_image(),
            serving=_serving(service),
            host=None if export.fargate else neuron_instance(export_host(service, export)),
            asked=asked_of_model(service.server, service.model, _serving(service)),
        )
        self.task_role: EcsRole = EcsRole(
            self,
            "TaskRole",
            description=f"Task of the export {self.name}",
            permissions=export_permissions(export.source, service.model, partition=stack.partition),
        )
        """Reads the checkpoint, writes the model, nothing else."""
        self.execution_role: EcsRole = EcsRole(
            self,
            "ExecutionRole",
            description=f"Starts the export {self.name}",
            permissions=self._execution(job, process, log, stack),
        )
        """What ECS starts it with."""
        self.task_definition: ecs.CfnTaskDefinition = self._definition(job, log)
        """The L1 beneath."""

    @property
    def run_command(self) -> str:
        """The exact command that starts an export, a token."""
        stack = cdk.Stack.of(self)
        subnets = ",".join(subnet.subnet_id for subnet in self._subnets)
        network = f"subnets=[{subnets}],securityGroups=[{self.security_group.security_group_id}]"
        return (
            f"aws ecs run-task --region {stack.region} --cluster {self.cluster.ref} "
            f"--task-definition {self.task_definition.ref} --count 1 {self._capacity.run_options} "
            f"--network-configuration 'awsvpcConfiguration={{{network},assignPublicIp=DISABLED}}'"
        )

    def add_outputs(self) -> None:
        """Add the stack's output `ExportCommand`."""
        cdk.CfnOutput(self, "ExportCommand", value=self.run_command, description="Starts the export of the model")

    def _place(self, service: ServiceSpec, export: ExportSpec, network: Network, log: ServiceLog) -> ExportCapacity:
        shape = service.model.size
        assert shape is not None  # The rules have found it to be known.
        if export.fargate:
            return fargate_capacity(shape, server=service.server)
        capacity, made = host_capacity(
            self,
            hosts=export.hosts,
            instance_type=export_host(service, export),
            shape=shape,
            server=service.server,
            network=network,
            cluster=self.cluster,
            name=self.name,
            log_group=log.log_group,
        )
        made.node.add_dependency(self.cluster)
        return capacity

    def _process(self, service: ServiceSpec, stack: cdk.Stack) -> ServerProcess:
        return server_process(
            service.server,
            instance=_serving(service),
            model=service.model,
            model_path=model_path(service.model),
            served_name=self.name,
            region=stack.region,
            dns_suffix=stack.url_suffix,
        )

    def _execution(
        self, job: ExportJob, process: ServerProcess, log: ServiceLog, stack: cdk.Stack
    ) -> tuple[Permission, ...]:
        repositories = [
            server_repository_arn(job.server.kind, process, stack),
            repository_arn(job.tools_image, partition=stack.partition),
        ]
        token = job.source.token_secret_arn
        return execution_permissions(
            repositories=[each for each in repositories if each is not None],
            log_group_arn=log.arn,
            secret_arns=[token] if token else [],
            key_arns=[job.source.token_key_arn] if job.source.token_key_arn else [],
        )

    def _definition(self, job: ExportJob, log: ServiceLog) -> ecs.CfnTaskDefinition:
        capacity = self._capacity
        storage = capacity.storage_gib
        definition = ecs.CfnTaskDefinition(
            self,
            "Definition",
            family=self.name,
            network_mode="awsvpc",
            requires_compatibilities=[capacity.compatibility],
            cpu=capacity.cpu,
            memory=str(capacity.memory_mib),
            ephemeral_storage=ecs.CfnTaskDefinition.EphemeralStorageProperty(size_in_gib=storage) if storage else None,
            container_definitions=export_containers(job, memory_mib=capacity.memory_mib, log=log.driver("export")),
            # Without a place on the host, ECS makes a folder for the task alone, and drops it with the task.
            volumes=[ecs.CfnTaskDefinition.VolumeProperty(name=WORK_VOLUME)],
            task_role_arn=self.task_role.role.role_arn,
            execution_role_arn=self.execution_role.role.role_arn,
        )
        acknowledge(
            definition,
            "the environment holds sizes, paths and addresses; the Hub's token comes from Secrets Manager by `secrets`",
            "AwsSolutions-ECS2",
        )
        return definition


def _serving(service: ServiceSpec) -> NeuronInstance:
    """Return the facts of the type that it will be served on, which the rules have found to be there."""
    found = neuron_instance(service.instance_type)
    assert found is not None
    return found
