"""The configuration of the ECS agent."""

from __future__ import annotations

import json

from inference_host.failures import Code, fail
from inference_host.host import Host
from inference_host.settings import Settings

PATH = "/etc/ecs/ecs.config"
DRIVER_ATTRIBUTE = "llm-fleet.neuron-driver"


def configure_agent(host: Host, settings: Settings) -> dict[str, object]:
    """Write the agent's settings. The AMI's settings for Inferentia are in another file and stay unchanged."""
    reported = {
        "ECS_CLUSTER": settings.cluster,
        "ECS_ENABLE_TASK_IAM_ROLE": "true",
        "ECS_ENABLE_TASK_ENI": "true",
        # A task has its own role, and must not use the host's.
        "ECS_AWSVPC_BLOCK_IMDS": "true",
        # Pulling the image takes minutes: a restarted task uses the cached one. Unused images are still removed:
        # `prefer-cached` would keep them until the disk is full.
        "ECS_IMAGE_PULL_BEHAVIOR": "once",
        "ECS_CONTAINER_STOP_TIMEOUT": "120s",
        "ECS_ENGINE_TASK_CLEANUP_WAIT_DURATION": "1h",
        "ECS_ENABLE_AWSLOGS_EXECUTIONROLE_OVERRIDE": "true",
        "ECS_INSTANCE_ATTRIBUTES": json.dumps({DRIVER_ATTRIBUTE: settings.driver}),
    }
    try:
        host.write(PATH, "".join(f"{name}={value}\n" for name, value in reported.items()))
    except OSError as error:
        fail(Code.AGENT, f"{PATH} could not be written: {error}")
    return {}
