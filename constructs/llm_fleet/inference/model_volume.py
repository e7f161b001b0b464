"""The model as containers see it: what Mountpoint for Amazon S3 shows on the host, read-only."""

from aws_cdk import aws_ecs as ecs

from llm_fleet.inference.model_mount import ModelMount

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
