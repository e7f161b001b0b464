"""The folder in which a server may write: downloads of the Hub, and what the Neuron compiler has compiled."""

from aws_cdk import aws_ecs as ecs

from llm_fleet.rules.inference.terms import Capacity

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
