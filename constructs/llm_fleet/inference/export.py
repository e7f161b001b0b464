"""Compiles a model for Neuron in the image that will serve it, and writes it to S3."""

from collections.abc import Iterator
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.catalog.model_server import fargate_facts, model_servers
from llm_fleet.catalog.model_server import tools_image as default_tools_image
from llm_fleet.catalog.neuron import NeuronInstance, default_root_gib, neuron_instance
from llm_fleet.catalog.service import task_memory_mib
from llm_fleet.iam.node_role import ServiceRole
from llm_fleet.iam.resource_permissions import read_bucket
from llm_fleet.iam.statements import Permission
from llm_fleet.inference.capacity import Ec2Capacity
from llm_fleet.inference.cluster import ServiceLog, ecs_role, execution_permissions, render_cluster
from llm_fleet.inference.export_containers import WORK_VOLUME, ExportJob, export_containers
from llm_fleet.inference.hosts import host_security_group
from llm_fleet.inference.model import model_access, model_path
from llm_fleet.inference.server import ServerProcess, repository_arn, server_process, server_repository_arn
from llm_fleet.inference.service_plan import service_name_of
from llm_fleet.lifecycle.model_checker.check import MARKER
from llm_fleet.network.network import Network
from llm_fleet.references import region_of
from llm_fleet.rules.fields import check_is_spec
from llm_fleet.rules.inference.export import check_export_of, export_disk_gib, export_host
from llm_fleet.rules.inference.fit import GIB, export_bytes
from llm_fleet.rules.inference.hosts import driver_for
from llm_fleet.rules.inference.model import requested_of_model
from llm_fleet.rules.problem import raise_problems
from llm_fleet.spec.model_server import ModelServer
from llm_fleet.spec.model_shape import Model, ModelShape, ModelSource
from llm_fleet.spec.service import ExportSpec, Hosts, ServiceSpec, TaskCount

_MIB_PER_GIB = 1024


_ONE_AT_A_TIME = TaskCount(desired=0, minimum=0, maximum=1)
"""No hosts by default, and one while a task needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCapacity:
    """Capacity properties of a task definition and of `run-task`."""

    compatibility: str
    cpu: str | None
    memory_mib: int
    storage_gib: int | None
    """GiB of ephemeral storage; `None`: the host's disk is used."""
    run_options: str
    """Options for `aws ecs run-task`."""


def fargate_capacity(shape: ModelShape, *, server: ModelServer) -> ExportCapacity:
    """Return the capacity of a Fargate task that is large enough."""
    facts = fargate_facts()
    steps = -(-export_bytes(shape) // (facts.memory_step_gib * GIB))
    memory = max(facts.memory_min_gib, int(steps) * facts.memory_step_gib)
    return ExportCapacity(
        compatibility="FARGATE",
        cpu=str(facts.cpu),
        memory_mib=memory * _MIB_PER_GIB,
        storage_gib=export_disk_gib(shape) + model_servers()[server.kind].image_gib,
        run_options="--launch-type FARGATE",
    )


def host_capacity(
    scope: Construct,
    *,
    hosts: Hosts,
    instance_type: str,
    shape: ModelShape,
    server: ModelServer,
    network: Network,
    cluster: ecs.CfnCluster,
    name: str,
    log_group: logs.CfnLogGroup,
) -> tuple[ExportCapacity, Ec2Capacity]:
    """Create capacity in `scope` without hosts between exports. The root volume has the working directory.

    A slow host can become ready after ECS has stopped its task; it then remains for the next attempt.
    assumption: ecs-provisioning-gives-up
    """
    image_gib = model_servers()[server.kind].image_gib
    work = default_root_gib(image_gib, cache_gib=export_disk_gib(shape))
    instance = neuron_instance(instance_type)
    assert instance is not None
    made = Ec2Capacity(
        scope,
        "Capacity",
        hosts=hosts.narrowed(Hosts, root_volume_gib=hosts.root_volume_gib or work),
        instance_type=instance_type,
        network=network,
        cluster_name=cluster.ref,
        service_name=name,
        tasks=_ONE_AT_A_TIME,
        driver_version=driver_for(server),
        log_group=log_group,
        image_gib=image_gib,
    )
    provider = cdk.Token.as_string(made.capacity_provider_name)
    capacity = ExportCapacity(
        compatibility=made.compatibility,
        cpu=None,
        memory_mib=task_memory_mib(instance),
        storage_gib=None,
        run_options=f"--capacity-provider-strategy capacityProvider={provider},weight=1",
    )
    return capacity, made


def export_permissions(source: Model, model: Model, *, partition: str) -> tuple[Permission, ...]:
    """Return the permissions to export `source` as `model`, which is in S3."""
    read = (
        read_bucket("Checkpoint", model_access(source, partition=partition), reason="the checkpoint to export is in S3")
        if source.source is ModelSource.S3
        else ()
    )
    return (*read, *_write(model, partition))


def _write(model: Model, partition: str) -> Iterator[Permission]:
    access = model_access(model, partition=partition)
    below = f"{access.prefix}/" if access.prefix else ""
    yield Permission(
        sid="Model",
        actions=("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject"),
        resources=(access.objects_arn,),
        reason="the exported model is written under its own prefix, with multipart uploads",
    )
    yield Permission(
        sid="Marker",
        actions=("s3:DeleteObject",),
        resources=(f"{access.bucket_arn}/{below}{MARKER}",),
        reason="the manifest of an earlier export is deleted before files are overwritten; nothing else is deleted",
    )
    if access.key_arn is not None:
        yield Permission(
            sid="ModelKey",
            actions=("kms:Decrypt", "kms:GenerateDataKey"),
            resources=(access.key_arn,),
            reason="the bucket is encrypted with its own key; a multipart upload also decrypts",
        )


class ModelExport(Construct):
    """A task that a user starts to export a checkpoint for Neuron to S3, with a manifest of its settings.

    `run_command` starts it: `aws ecs run-task …`. It downloads the checkpoint, exports it in the server's own image,
    because the server rejects code of another compiler, compares the result with the server's requirements, and then
    copies it to S3, the manifest `llm-fleet-model.json` last. It takes half an hour for a 7B model and hours for a 70B
    model. Between exports there is no host, and only the log has costs.

    The manifest has target, tensor parallelism, batch, sequence, compiler, image and checkpoint. The service's
    `ModelCheck`, and each task, compare it with the server's requirements.
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
        """Create the task, its role and its capacity. Raises `FleetError` (LF722, LF723, and those of the parts).

        - `export`: the checkpoint, and the capacity for the export. Default: the smallest type of the service's family
          with enough host memory and cores, since a host that can serve an exported model often cannot export it:
          `inf2.xlarge` has 16 GiB. The makers of the image do not say whether an export on Fargate has the same
          result as on a Neuron host.
        - `service`: the service that will serve it. Its model is the destination, and its server's sizes and image
          define the compilation; without `tensor_parallel`, all cores of its instance type are used.
        - `name`: default: generated from the construct's path.
        - `encryption_key`: encrypts the log. Default: CloudWatch Logs' own key.
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
        """Name of the export, its cluster and its task definition family."""
        log = ServiceLog(
            self,
            "Logs",
            service_name=self.name,
            retention_days=service.log_retention_days,
            encryption_key=encryption_key,
        )
        self.cluster: ecs.CfnCluster = render_cluster(self, self.name, log=log, record_shells=False)
        """ECS cluster of the export only."""
        self._capacity = self._place(service, export, network, log)
        self.security_group: ec2.ISecurityGroup = host_security_group(self, "TaskSecurityGroup", network.vpc)
        """Security group of the task: no ingress, HTTPS egress."""
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
            requested=requested_of_model(service.server, service.model, _serving(service)),
        )
        self.task_role: ServiceRole = ecs_role(
            self,
            "TaskRole",
            description=f"Task of the export {self.name}",
            permissions=export_permissions(export.source, service.model, partition=stack.partition),
        )
        """Task role: reads the checkpoint and writes the model."""
        self.execution_role: ServiceRole = ecs_role(
            self,
            "ExecutionRole",
            description=f"Starts the export {self.name}",
            permissions=self._execution(job, process, log, stack),
        )
        """Execution role of the task."""
        self.task_definition: ecs.CfnTaskDefinition = self._definition(job, log)
        """The L1 construct."""

    @property
    def run_command(self) -> str:
        """The command that starts an export, a CDK token."""
        stack = cdk.Stack.of(self)
        subnets = ",".join(subnet.subnet_id for subnet in self._subnets)
        network = f"subnets=[{subnets}],securityGroups=[{self.security_group.security_group_id}]"
        return (
            f"aws ecs run-task --region {stack.region} --cluster {self.cluster.ref} "
            f"--task-definition {self.task_definition.ref} --count 1 {self._capacity.run_options} "
            f"--network-configuration 'awsvpcConfiguration={{{network},assignPublicIp=DISABLED}}'"
        )

    def add_outputs(self) -> None:
        """Add the stack output `ExportCommand`."""
        cdk.CfnOutput(self, "ExportCommand", value=self.run_command, description="Starts the export of the model")

    def _place(self, service: ServiceSpec, export: ExportSpec, network: Network, log: ServiceLog) -> ExportCapacity:
        shape = service.model.size
        assert shape is not None  # The rules have checked this.
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
            # Without a host path, ECS creates a directory for the task, and deletes it with the task.
            volumes=[ecs.CfnTaskDefinition.VolumeProperty(name=WORK_VOLUME)],
            task_role_arn=self.task_role.role.role_arn,
            execution_role_arn=self.execution_role.role.role_arn,
        )
        acknowledge(
            definition,
            "the environment has sizes, paths and URLs; the Hub's token comes from Secrets Manager through `secrets`",
            "AwsSolutions-ECS2",
        )
        return definition


def _serving(service: ServiceSpec) -> NeuronInstance:
    """Return the facts of the service's instance type; the rules have checked that it exists."""
    found = neuron_instance(service.instance_type)
    assert found is not None
    return found
