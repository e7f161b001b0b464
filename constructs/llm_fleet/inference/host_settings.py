"""What a host of a service is told when it boots."""

from typing import Any

import aws_cdk as cdk
from constructs import Construct

from llm_fleet.catalog.neuron import neuron_instance
from llm_fleet.inference.model_mount import ModelMount


def host_settings(
    scope: Construct,
    *,
    instance_type: str,
    install_driver: bool,
    service_name: str,
    cluster_name: str,
    driver_version: str,
    log_group_name: str,
    signal_resources: list[str],
    mount: ModelMount | None,
) -> dict[str, Any]:
    """Return `settings.json` of `lifecycle_scripts/inference_host`.

    `signal_resources`: logical ids of what waits for the hosts' signals: the auto scaling group while it replaces
    hosts, and the wait condition while the stack is created.
    """
    stack = cdk.Stack.of(scope)
    instance = neuron_instance(instance_type)
    return {
        "service": service_name,
        "cluster": cluster_name,
        "region": stack.region,
        "url_suffix": stack.url_suffix,
        "instance_type": str(instance_type),
        "driver": driver_version,
        "install_driver": install_driver,
        "devices": instance.devices if instance else None,
        "log_group": log_group_name,
        "stack": stack.stack_id,
        "signal_resources": signal_resources,
        "mount": None
        if mount is None
        else {
            "bucket": mount.bucket_name,
            "prefix": mount.prefix,
            "path": mount.host_path,
            "cache_gib": mount.cache_gib,
        },
    }
