"""The containers of an export, which run in sequence: fetch, export, check, publish."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aws_cdk import aws_ecs as ecs

from llm_fleet.catalog.model_server import model_exports
from llm_fleet.catalog.neuron import NeuronInstance
from llm_fleet.inference.model import CHECK_CONTAINER, check_container
from llm_fleet.lifecycle import model_exporter
from llm_fleet.lifecycle.model_checker.check import MARKER
from llm_fleet.lifecycle.model_exporter.words import export_words
from llm_fleet.rules.inference.model import cast_type
from llm_fleet.spec.model_server import ModelServer
from llm_fleet.spec.model_shape import Model, ModelSource

_Container = ecs.CfnTaskDefinition.ContainerDefinitionProperty
_Dependency = ecs.CfnTaskDefinition.ContainerDependencyProperty
WORK_VOLUME = "work"
_CHECKPOINT = "/work/checkpoint"
_MODEL = "/work/model"
_TOOLS_MEMORY_MIB = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportJob:
    """Source, destination, images and settings of an export."""

    source: Model
    model: Model
    server: ModelServer
    image: str
    """URI of the server's image in this region."""
    tools_image: str
    """Image of the AWS CLI."""
    serving: NeuronInstance
    """The instance type that will serve it."""
    host: NeuronInstance | None
    """The instance type of the export; `None` for a host without Neuron devices."""
    requested: Mapping[str, Any]
    """The server's requirements for the model."""

    @property
    def arguments(self) -> list[str]:
        """Arguments of `optimum-cli export neuron` between the checkpoint and the output directory."""
        facts = asdict(model_exports()[self.server.kind])
        return export_words(facts, self.requested, cast_type=cast_type(self.server), family=self.serving.family)


def export_containers(
    job: ExportJob, *, memory_mib: int, log: ecs.CfnTaskDefinition.LogConfigurationProperty
) -> list[_Container]:
    """Return the containers; `memory_mib` is the task's total memory. Only the last container is essential."""
    from_s3 = job.source.source is ModelSource.S3
    check = check_container(
        source=ModelSource.S3,
        path=_MODEL,
        requested=job.requested,
        image=job.image,
        mount_points=[_work(read_only=True)],
        log=log,
        after="export",
    )
    assert check is not None
    fetch = _tools(job, "fetch", "fetch.sh", {"SOURCE": job.source.location, "CHECKPOINT": _CHECKPOINT}, log=log)
    target = {"MODEL": _MODEL, "TARGET": job.model.location.rstrip("/"), "MARKER": MARKER}
    publish = _tools(job, "publish", "publish.sh", target, log=log, after=CHECK_CONTAINER, essential=True)
    small = sum(int(each.memory or 0) for each in (check, publish, *([fetch] if from_s3 else [])))
    export = _export(job, memory_mib=memory_mib - small, after="fetch" if from_s3 else None, log=log)
    return [*([fetch] if from_s3 else []), export, check, publish]


def _export(
    job: ExportJob, *, memory_mib: int, after: str | None, log: ecs.CfnTaskDefinition.LogConfigurationProperty
) -> _Container:
    hub = job.source.source is ModelSource.HUB
    settings = {
        "hub_id": job.source.location if hub else None,
        "revision": job.source.revision,
        "checkpoint": _CHECKPOINT,
        "model": _MODEL,
        "marker": MARKER,
        "arguments": job.arguments,
        "note": {
            "format": 1,
            "source": job.source.location,
            "revision": job.source.revision,
            "server": str(job.server.kind),
            "image": job.image,
            "target": job.serving.target,
        },
    }
    environment = {"LLM_FLEET_EXPORT": json.dumps(settings, sort_keys=True)}
    if not hub:
        environment["HF_HUB_OFFLINE"] = "1"
    token = job.source.token_secret_arn
    secrets = [ecs.CfnTaskDefinition.SecretProperty(name="HF_TOKEN", value_from=token)] if token else []
    return _Container(
        name="export",
        image=job.image,
        essential=False,
        entry_point=["python3", "-c"],
        command=[_script("export.py")],
        environment=_pairs(environment),
        secrets=secrets,
        memory=memory_mib,
        privileged=False,
        linux_parameters=_linux(job.host),
        mount_points=[_work()],
        depends_on=_after(after),
        log_configuration=log,
    )


def _tools(
    job: ExportJob,
    name: str,
    script: str,
    environment: Mapping[str, str],
    *,
    log: ecs.CfnTaskDefinition.LogConfigurationProperty,
    after: str | None = None,
    essential: bool = False,
) -> _Container:
    return _Container(
        name=name,
        image=job.tools_image,
        essential=essential,
        entry_point=["/bin/sh", "-c"],
        command=[_script(script)],
        environment=_pairs(environment),
        memory=_TOOLS_MEMORY_MIB,
        privileged=False,
        mount_points=[_work(read_only=essential)],
        depends_on=_after(after),
        log_configuration=log,
    )


def _linux(host: NeuronInstance | None) -> ecs.CfnTaskDefinition.LinuxParametersProperty:
    """Return all devices: optimum-neuron detects its compilation target from them."""
    devices = [
        ecs.CfnTaskDefinition.DeviceProperty(host_path=path, container_path=path, permissions=["read", "write"])
        for path in (host.device_paths if host else ())
    ]
    return ecs.CfnTaskDefinition.LinuxParametersProperty(devices=devices or None, init_process_enabled=True)


def _work(*, read_only: bool = False) -> ecs.CfnTaskDefinition.MountPointProperty:
    return ecs.CfnTaskDefinition.MountPointProperty(
        source_volume=WORK_VOLUME, container_path="/work", read_only=read_only
    )


def _after(container: str | None) -> Sequence[_Dependency] | None:
    return [_Dependency(container_name=container, condition="SUCCESS")] if container else None


def _pairs(environment: Mapping[str, str]) -> list[ecs.CfnTaskDefinition.KeyValuePairProperty]:
    return [ecs.CfnTaskDefinition.KeyValuePairProperty(name=name, value=value) for name, value in environment.items()]


def _script(name: str) -> str:
    (folder,) = model_exporter.__path__
    return Path(folder, name).read_text(encoding="utf-8")
