"""The first container of a task: it looks at the model before the server is started."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aws_cdk import aws_ecs as ecs

from llm_fleet.lifecycle import model_checker
from llm_fleet.spec.served_model import ModelSource

CHECK_CONTAINER = "model-check"
_MEMORY_MIB = 256
_NOBODY = "65534:65534"


def check_container(
    *,
    source: ModelSource,
    path: str,
    asked: Mapping[str, Any],
    image: str,
    mount_points: Sequence[ecs.CfnTaskDefinition.MountPointProperty] = (),
    log: ecs.CfnTaskDefinition.LogConfigurationProperty | None = None,
    after: str | None = None,
) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty | None:
    """Return the container that ends with 0 only when the model at `path` is what the server asks for.

    The server's container waits for it (`dependsOn`, `SUCCESS`), so that a model that was exchanged since the
    deployment stops the task in a second and with the reason in the log, and not after minutes of loading. It runs
    Python of the server's own `image`, which the host needs anyway, as nobody, without a way to write anything. `None`
    for a model of the Hub, of which nothing is there yet. `asked`: see `asked_of_model`. `mount_points`: what
    shows the model at `path`. `log`: default, the container's output is kept nowhere.
    `after`: a container that must end well before. Default: none.
    """
    if source is ModelSource.HUB:
        return None
    environment = {"LLM_FLEET_MODEL_ASKED": json.dumps(dict(asked), sort_keys=True), "LLM_FLEET_MODEL_PATH": path}
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
        user=_NOBODY,
        linux_parameters=ecs.CfnTaskDefinition.LinuxParametersProperty(
            capabilities=ecs.CfnTaskDefinition.KernelCapabilitiesProperty(drop=["ALL"]), init_process_enabled=True
        ),
    )


def check_source() -> str:
    """Return the check's source, for `python3 -c`."""
    (folder,) = model_checker.__path__
    return Path(folder, "check.py").read_text(encoding="utf-8")
