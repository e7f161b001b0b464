"""The model of a service: mounted for its task, and looked at before the service is made and before a task starts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from constructs import Construct

from llm_fleet import lifecycle
from llm_fleet.iam.resource_permissions import read_bucket
from llm_fleet.iam.statements import BucketAccess, Permission, statement_of
from llm_fleet.lifecycle import model_checker
from llm_fleet.lifecycle.python_function import DeploymentCode, DeploymentFunction
from llm_fleet.lifecycle.script_folder import ScriptFile, read_scripts
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.inference.fit import cache_gib
from llm_fleet.spec.model_shape import Model, ModelSource
from llm_fleet.spec.service import Capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMount:
    """A folder of a bucket, mounted read-only on the host and shown to the container."""

    bucket_name: str
    """The bucket; may be a token."""
    prefix: str
    """Only keys below it, without slashes at its ends; empty for the whole bucket."""
    host_path: str
    """Where Mountpoint for Amazon S3 shows it on the host."""
    container_path: str
    """Where containers see it."""
    cache_gib: int
    """How much of it the host may keep on its disk."""


_MODEL_PATH = "/mnt/llm-fleet/model"
_SEEN_AT = "/model"


def model_mount(model: Model) -> ModelMount | None:
    """Return how hosts see `model`; `None` for a model that is not in S3."""
    kept = cache_gib(model)
    if kept is None:
        return None
    bucket, prefix = bucket_and_prefix(model.location)
    return ModelMount(bucket_name=bucket, prefix=prefix, host_path=_MODEL_PATH, container_path=_SEEN_AT, cache_gib=kept)


def model_path(model: Model) -> str:
    """Return what the server is told of `model`: a folder in the container, or the id on the Hub."""
    return _SEEN_AT if model.source is ModelSource.S3 else model.location.rstrip("/")


MODEL_VOLUME = "model"


def model_volumes(mount: ModelMount | None) -> list[ecs.CfnTaskDefinition.VolumeProperty]:
    """Return the volume of the model; none for a model that no host mounts.

    The host mounts it before the agent of ECS starts, or keeps the agent from starting: Docker would make an empty
    folder of a path that is not there.
    """
    if mount is None:
        return []
    host = ecs.CfnTaskDefinition.HostVolumePropertiesProperty(source_path=mount.host_path)
    return [ecs.CfnTaskDefinition.VolumeProperty(name=MODEL_VOLUME, host=host)]


def model_mounts(mount: ModelMount | None) -> list[ecs.CfnTaskDefinition.MountPointProperty]:
    """Return where a container sees the model."""
    if mount is None:
        return []
    return [
        ecs.CfnTaskDefinition.MountPointProperty(
            source_volume=MODEL_VOLUME, container_path=mount.container_path, read_only=True
        )
    ]


_MOUNT_REASON = (
    "Mountpoint for Amazon S3 shows the model to the server, read-only; nothing else of the bucket is readable"
)


def model_permissions(model: Model, *, partition: str) -> Sequence[Permission]:
    """Return what the role of a service's hosts needs to mount `model`; nothing for one that is not in S3."""
    if model.source is not ModelSource.S3:
        return ()
    return read_bucket("Model", model_access(model, partition=partition), reason=_MOUNT_REASON)


def model_access(model: Model, *, partition: str) -> BucketAccess:
    """Return the part of a bucket that `model`, one in S3, is."""
    bucket, prefix = bucket_and_prefix(model.location)
    return BucketAccess(bucket_arn=f"arn:{partition}:s3:::{bucket}", prefix=prefix, key_arn=model.key_arn)


CACHE_VOLUME = "cache"
CONTAINER_PATH = "/var/cache/llm-fleet"
_HOST_PATH = "/var/lib/llm-fleet/cache"

CACHE_ENVIRONMENT = {
    "HF_HOME": f"{CONTAINER_PATH}/huggingface",
    # TGI's image sets this one to /tmp, and it counts more than HF_HOME (text-generation-inference, Dockerfile.neuron).
    "HUGGINGFACE_HUB_CACHE": f"{CONTAINER_PATH}/huggingface/hub",
    "NEURON_COMPILE_CACHE_URL": f"{CONTAINER_PATH}/neuron",
}
"""Where Hugging Face's libraries and the Neuron compiler put what they need again."""


def cache_volume(capacity: Capacity) -> ecs.CfnTaskDefinition.VolumeProperty:
    """Return the volume: on an EC2 host it stays between tasks, so that a second start downloads and compiles nothing.

    Nothing of ours is on a managed instance, and its host paths are not ours to name: there it goes with the task.
    """
    host = ecs.CfnTaskDefinition.HostVolumePropertiesProperty(
        source_path=_HOST_PATH if capacity is Capacity.EC2 else None
    )
    return ecs.CfnTaskDefinition.VolumeProperty(name=CACHE_VOLUME, host=host)


def cache_mount() -> ecs.CfnTaskDefinition.MountPointProperty:
    """Return where a container sees the volume."""
    return ecs.CfnTaskDefinition.MountPointProperty(
        source_volume=CACHE_VOLUME, container_path=CONTAINER_PATH, read_only=False
    )


_PACKAGES = ("model_checker", "publisher")
"""The check, and the publisher's way of answering CloudFormation, which it uses."""
_ANSWER = ("publisher/__init__.py", "publisher/response.py")


def _files() -> list[ScriptFile]:
    (root,) = lifecycle.__path__
    found = [
        ScriptFile(path=f"{package}/{file.path}", data=file.data, executable=file.executable)
        for package in _PACKAGES
        for file in read_scripts(Path(root, package))
    ]
    return [file for file in found if file.path.startswith("model_checker/") or file.path in _ANSWER]


class ModelChecker(DeploymentFunction):
    """A small Lambda function of our own, which may list and read the models that it is asked about, and nothing else.

    It is in no VPC: it talks to S3 and CloudFormation only. Where a bucket's policy lets nobody in but through a VPC
    endpoint, it says so, and the deployment-time check has to be left out; tasks check again in any case.
    """

    code = DeploymentCode(
        id="LlmFleetModelChecker",
        archive="checker.zip",
        files=_files,
        below="lifecycle/",
        handler="lifecycle.model_checker.handler.handler",
        timeout=120,
        runs_once="once a model",
        description="Looks whether a model is there and compiled for its server, before the service is made",
        policy_description="What the function that looks at models may do",
        role_description="Role of the function that looks at models before their services are made",
        unencrypted_log="its log holds addresses of models and errors, encrypted by CloudWatch; another key can be "
        "given",
    )

    def allow(self, permissions: Sequence[Permission]) -> None:
        """Let it do what `permissions` say; their statement ids must be unique in the stack."""
        reasons = {arn: permission.reason for permission in permissions for arn in permission.resources}
        self.allow_statements([statement_of(permission) for permission in permissions], wildcards=reasons)


_CHECK_REASON = "the function looks, before a service is made, whether its model is there and what it was compiled for"


class ModelCheck(Construct):
    """Looks at a model in S3 before a service is made, in seconds, and fails the deployment with the reason.

    Without it the mistake would show when the server has been pulled and started, a quarter of an hour later, as a
    container that ends over and over. A service has to depend on this construct. The check is repeated whenever what
    the server asks for, or the model's address, changes; and by each task when it starts (`check_container`), since an
    object in S3 can change without a deployment.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        model: Model,
        requested: Mapping[str, Any],
        log_encryption_key: kms.IKey | None = None,
    ) -> None:
        """Check `model`, which must be in S3 (`ValueError` else), against `asked` (see `requested_of_model`).

        `log_encryption_key`: of the function's log. Default: CloudWatch's own encryption.
        """
        if model.source is not ModelSource.S3:
            raise ValueError(f"{scope.node.path}/{id}: only a model in S3 can be looked at before its service is made")
        super().__init__(scope, id)
        checker = ModelChecker.of(self, log_encryption_key=log_encryption_key)
        access = model_access(model, partition=cdk.Stack.of(self).partition)
        checker.allow(read_bucket(f"Model{self.node.addr[-8:]}", access, reason=_CHECK_REASON))
        bucket, prefix = bucket_and_prefix(model.location)
        self.resource: cdk.CustomResource = cdk.CustomResource(
            self,
            "Resource",
            resource_type="Custom::LlmFleetModelCheck",
            service_token=checker.function.attr_arn,
            service_timeout=cdk.Duration.minutes(5),
            properties={
                "Bucket": bucket,
                "Prefix": prefix,
                # One string: CloudFormation would turn every number and boolean of an object into text.
                "Asked": json.dumps(dict(requested), sort_keys=True),
            },
        )
        """What waits for the answer; a service depends on it."""


CHECK_CONTAINER = "model-check"
_MEMORY_MIB = 256
_NO_ONE = "65534:65534"


def check_container(
    *,
    source: ModelSource,
    path: str,
    requested: Mapping[str, Any],
    image: str,
    mount_points: Sequence[ecs.CfnTaskDefinition.MountPointProperty] = (),
    log: ecs.CfnTaskDefinition.LogConfigurationProperty | None = None,
    after: str | None = None,
) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty | None:
    """Return the container that ends with 0 only when the model at `path` is what the server asks for.

    The server's container waits for it (`dependsOn`, `SUCCESS`), so that a model that was exchanged since the
    deployment stops the task in a second and with the reason in the log, and not after minutes of loading. It runs
    Python of the server's own `image`, which the host needs anyway, as nobody, without a way to write anything. `None`
    for a model of the Hub, of which nothing is there yet. `asked`: see `requested_of_model`. `mount_points`: what
    shows the model at `path`. `log`: default, the container's output is kept nowhere.
    `after`: a container that must end well before. Default: none.
    """
    if source is ModelSource.HUB:
        return None
    environment = {"LLM_FLEET_MODEL_ASKED": json.dumps(dict(requested), sort_keys=True), "LLM_FLEET_MODEL_PATH": path}
    return ecs.CfnTaskDefinition.ContainerDefinitionProperty(
        name=CHECK_CONTAINER,
        image=image,
        # ECS takes SUCCESS as a condition only of containers that are not essential.
        essential=False,
        entry_point=["python3", "-c"],
        command=[check_source()],
        environment=[
            ecs.CfnTaskDefinition.KeyValuePairProperty(name=name, value=value) for name, value in environment.items()
        ],
        log_configuration=log,
        memory=_MEMORY_MIB,
        mount_points=list(mount_points),
        depends_on=[ecs.CfnTaskDefinition.ContainerDependencyProperty(container_name=after, condition="SUCCESS")]
        if after
        else None,
        privileged=False,
        readonly_root_filesystem=True,
        user=_NO_ONE,
        linux_parameters=ecs.CfnTaskDefinition.LinuxParametersProperty(
            capabilities=ecs.CfnTaskDefinition.KernelCapabilitiesProperty(drop=["ALL"]), init_process_enabled=True
        ),
    )


def check_source() -> str:
    """Return the check's source, for `python3 -c`."""
    (folder,) = model_checker.__path__
    return Path(folder, "check.py").read_text(encoding="utf-8")
