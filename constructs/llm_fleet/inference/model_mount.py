"""What a task sees of its host: the model in S3, mounted read-only, who may read it, and the folder for caches."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ecs as ecs

from llm_fleet.iam.resource_permissions import read_bucket
from llm_fleet.iam.statements import BucketAccess, Permission
from llm_fleet.rules.inference.fit import cache_gib
from llm_fleet.rules.inference.model import bucket_and_prefix
from llm_fleet.spec.served_model import Model, ModelSource
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


_REASON = "Mountpoint for Amazon S3 shows the model to the server, read-only; nothing else of the bucket is readable"


def model_permissions(model: Model, *, partition: str) -> Sequence[Permission]:
    """Return what the role of a service's hosts needs to mount `model`; nothing for one that is not in S3."""
    if model.source is not ModelSource.S3:
        return ()
    return read_bucket("Model", model_access(model, partition=partition), reason=_REASON)


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
