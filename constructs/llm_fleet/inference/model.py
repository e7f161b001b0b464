"""The model of a service: its mount, its check at deployment, and its check before a task starts."""

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
    """A prefix of a bucket, mounted read-only on the host and in the container."""

    bucket_name: str
    """The bucket; may be a token."""
    prefix: str
    """The prefix without leading and trailing slashes; empty for the whole bucket."""
    host_path: str
    """Mount path of Mountpoint for Amazon S3 on the host."""
    container_path: str
    """Mount path in containers."""
    cache_gib: int
    """Cache size on the host's disk."""


_MODEL_PATH = "/mnt/llm-fleet/model"
_SEEN_AT = "/model"


def model_mount(model: Model) -> ModelMount | None:
    """Return the mount of `model` on hosts; `None` for a model that is not in S3."""
    kept = cache_gib(model)
    if kept is None:
        return None
    bucket, prefix = bucket_and_prefix(model.location)
    return ModelMount(bucket_name=bucket, prefix=prefix, host_path=_MODEL_PATH, container_path=_SEEN_AT, cache_gib=kept)


def model_path(model: Model) -> str:
    """Return the server's model id: a path in the container, or an id on the Hub."""
    return _SEEN_AT if model.source is ModelSource.S3 else model.location.rstrip("/")


MODEL_VOLUME = "model"


def model_volumes(mount: ModelMount | None) -> list[ecs.CfnTaskDefinition.VolumeProperty]:
    """Return the volume of the model; empty for a model without a mount.

    The host mounts it before the ECS agent starts, or does not start the agent: Docker would create an empty directory
    for a missing path.
    """
    if mount is None:
        return []
    host = ecs.CfnTaskDefinition.HostVolumePropertiesProperty(source_path=mount.host_path)
    return [ecs.CfnTaskDefinition.VolumeProperty(name=MODEL_VOLUME, host=host)]


def model_mounts(mount: ModelMount | None) -> list[ecs.CfnTaskDefinition.MountPointProperty]:
    """Return the mount point of the model in a container."""
    if mount is None:
        return []
    return [
        ecs.CfnTaskDefinition.MountPointProperty(
            source_volume=MODEL_VOLUME, container_path=mount.container_path, read_only=True
        )
    ]


_MOUNT_REASON = "Mountpoint for Amazon S3 mounts the model read-only; nothing else in the bucket is readable"


def model_permissions(model: Model, *, partition: str) -> Sequence[Permission]:
    """Return the host role's permissions to mount `model`; empty for a model that is not in S3."""
    if model.source is not ModelSource.S3:
        return ()
    return read_bucket("Model", model_access(model, partition=partition), reason=_MOUNT_REASON)


def model_access(model: Model, *, partition: str) -> BucketAccess:
    """Return the bucket and prefix of `model`, which must be in S3."""
    bucket, prefix = bucket_and_prefix(model.location)
    return BucketAccess(bucket_arn=f"arn:{partition}:s3:::{bucket}", prefix=prefix, key_arn=model.key_arn)


CACHE_VOLUME = "cache"
CONTAINER_PATH = "/var/cache/llm-fleet"
_HOST_PATH = "/var/lib/llm-fleet/cache"

CACHE_ENVIRONMENT = {
    "HF_HOME": f"{CONTAINER_PATH}/huggingface",
    # TGI's image sets this to /tmp, and it has precedence over HF_HOME (text-generation-inference, Dockerfile.neuron).
    "HUGGINGFACE_HUB_CACHE": f"{CONTAINER_PATH}/huggingface/hub",
    "NEURON_COMPILE_CACHE_URL": f"{CONTAINER_PATH}/neuron",
}
"""Cache directories of Hugging Face's libraries and the Neuron compiler."""


def cache_volume(capacity: Capacity) -> ecs.CfnTaskDefinition.VolumeProperty:
    """Return the cache volume: an EC2 host keeps it between tasks, so that later starts download and compile nothing.

    Host paths of a managed instance cannot be set, so the volume is deleted with the task there.
    """
    host = ecs.CfnTaskDefinition.HostVolumePropertiesProperty(
        source_path=_HOST_PATH if capacity is Capacity.EC2 else None
    )
    return ecs.CfnTaskDefinition.VolumeProperty(name=CACHE_VOLUME, host=host)


def cache_mount() -> ecs.CfnTaskDefinition.MountPointProperty:
    """Return the mount point of the cache volume."""
    return ecs.CfnTaskDefinition.MountPointProperty(
        source_volume=CACHE_VOLUME, container_path=CONTAINER_PATH, read_only=False
    )


_PACKAGES = ("model_checker", "publisher")
"""The check, and the publisher's module for responses to CloudFormation, which it uses."""
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
    """A Lambda function that can list and read only the models that it checks.

    It is not in a VPC, since it uses only S3 and CloudFormation. If a bucket's policy allows access only through a VPC
    endpoint, its error says so, and the check at deployment must be disabled; tasks check the model in any case.
    """

    code = DeploymentCode(
        id="LlmFleetModelChecker",
        archive="checker.zip",
        files=_files,
        below="lifecycle/",
        handler="lifecycle.model_checker.handler.handler",
        timeout=120,
        runs_once="once for each model",
        description="Checks that a model exists and is compiled for its server, before the service is created",
        policy_description="Permissions of the function that checks models",
        role_description="Role of the function that checks models before their services are created",
        unencrypted_log="its log has S3 URIs of models and errors, encrypted by CloudWatch; another key can be given",
    )

    def allow(self, permissions: Sequence[Permission]) -> None:
        """Add `permissions` to its role; their statement ids must be unique in the stack."""
        reasons = {arn: permission.reason for permission in permissions for arn in permission.resources}
        self.allow_statements([statement_of(permission) for permission in permissions], wildcards=reasons)


_CHECK_REASON = "the function checks, before a service is created, that its model exists and is compiled for it"


class ModelCheck(Construct):
    """Checks a model in S3 before a service is created, in seconds, and fails the deployment with the reason.

    Without it, an error would appear 15 minutes later, after the server is pulled and started, as a container that
    exits repeatedly. A service must depend on this construct. The check runs again whenever the server's requirements
    or the model's URI change; and each task checks at its start (`check_container`), since an object in S3 can change
    without a deployment.
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
        """Check `model` against `requested` (see `requested_of_model`). Raises `ValueError` if it is not in S3.

        `log_encryption_key`: encrypts the function's log. Default: CloudWatch's own encryption.
        """
        if model.source is not ModelSource.S3:
            raise ValueError(f"{scope.node.path}/{id}: only a model in S3 can be checked before its service is created")
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
                # One string, because CloudFormation converts all numbers and booleans of an object to strings.
                "Requested": json.dumps(dict(requested), sort_keys=True),
            },
        )
        """The custom resource; a service must depend on it."""


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
    """Return a container that exits with 0 only if the model at `path` meets the server's requirements.

    The server's container depends on it (`dependsOn`, `SUCCESS`), so that a model that was replaced after the
    deployment stops the task in a second, with the reason in the log, instead of after minutes of loading. It runs
    Python in the server's own `image`, which the host needs anyway, as an unprivileged user without write access.
    `None` for a model on the Hub, which is not downloaded yet. `requested`: see `requested_of_model`. `mount_points`:
    of the model at `path`. `log`: default, the container's output is not stored.
    `after`: a container that must exit successfully before. Default: none.
    """
    if source is ModelSource.HUB:
        return None
    environment = {
        "LLM_FLEET_MODEL_REQUESTED": json.dumps(dict(requested), sort_keys=True),
        "LLM_FLEET_MODEL_PATH": path,
    }
    return ecs.CfnTaskDefinition.ContainerDefinitionProperty(
        name=CHECK_CONTAINER,
        image=image,
        # ECS allows the condition SUCCESS only for containers that are not essential.
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
    """Return the source code of the check, for `python3 -c`."""
    (folder,) = model_checker.__path__
    return Path(folder, "check.py").read_text(encoding="utf-8")
