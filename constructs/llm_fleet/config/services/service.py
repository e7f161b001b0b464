"""An inference service."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.services.alarms import AlarmsConfig
from llm_fleet.config.services.export import ExportConfig
from llm_fleet.config.services.front import FrontConfig
from llm_fleet.config.services.hosts import HostsConfig
from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.other_words import OF_SERVICE
from llm_fleet.config.services.scaling import ScalingConfig
from llm_fleet.config.services.servers import AnyServer
from llm_fleet.config.services.short_schema import or_capacity, or_kind, or_text, or_topic
from llm_fleet.config.services.sidecar_images import SidecarImagesConfig
from llm_fleet.config.services.tgi_server import TgiServerConfig
from llm_fleet.config.services.values import NeuronInstanceName
from llm_fleet.rules.inference.terms import Capacity, ServerKind
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.values import Days, Seconds


class ServiceConfig(NamedModel):
    """A model behind an OpenAI-compatible endpoint. Its key is the service's name, and what clients ask for."""

    other_words: ClassVar[Mapping[str, str]] = OF_SERVICE

    model: ServedModelConfig = Field(
        examples=[{"s3": "s3://my-models/tanuki-8b"}, "s3://my-models/tanuki-8b"], json_schema_extra=or_text
    )
    """What is served: `s3://…`, an id of the Hub, or more about it."""
    instance_type: NeuronInstanceName = Field(alias="instance", examples=["inf2.xlarge"])
    """On what: an EC2 instance type with Neuron devices. A task has an instance to itself."""
    server: AnyServer = Field(default=TgiServerConfig(kind=ServerKind.TGI), json_schema_extra=or_kind)
    """What serves: `tgi`, `hugging-face-vllm`, `aws-vllm` or `aws-vllm-neuron`, or more about it. Default: `tgi`."""
    desired: int = Field(default=2, alias="count")
    """How many tasks. Default: 2; one serves while an update replaces the other."""
    minimum: int | None = Field(default=None, alias="min")
    """Never fewer. Default: `count`."""
    maximum: int | None = Field(default=None, alias="max")
    """Never more; above `min`, the service grows with its load. Default: `count`, which scales nothing."""
    scaling: ScalingConfig = ScalingConfig()
    """By what it grows and shrinks."""
    hosts: HostsConfig = Field(default=HostsConfig(), json_schema_extra=or_capacity)
    """Who runs the instances, and what they are made with."""
    front: FrontConfig = FrontConfig()
    """The load balancer, who reaches it and who may ask the model."""
    alarms: AlarmsConfig = Field(default=AlarmsConfig(), json_schema_extra=or_topic)
    """Who is called, and from when on: the ARN of an SNS topic, or more about it. Default: nobody."""
    log_retention_days: Days = Field(default=30, alias="logs")
    """How long logs are kept. Default: `30 days`."""
    health_check_grace_seconds: Seconds | None = Field(default=None, alias="load_time")
    """How long a task may take to load the model before its health counts. Default: by the server and the model."""
    execute_command: bool = False
    """Whether `aws ecs execute-command` opens a shell in a task. Default: no; who has one has the model and the key."""
    neuron_health: bool = True
    """Whether a daemon watches the Neuron devices of hosts. Default: yes on `ec2`."""
    replace_sick_hosts: bool = False
    """Whether a host with a sick device is ended and replaced, without draining. Default: no; an alarm goes off."""
    sidecar_images: SidecarImagesConfig = SidecarImagesConfig()
    """Images of what runs beside the server. Default: those of their makers, in public registries."""
    export: ExportConfig | None = Field(default=None, examples=["{source: meta-llama/Llama-3.1-8B-Instruct}"])
    """A task that compiles the model for Neuron into its bucket, in a stack of its own. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of the service, next to those of the fleet. Default: none."""

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that relative paths begin at; for the loader."""
        self.model.stand_in(directory)
        if self.export is not None:
            self.export.stand_in(directory)

    @property
    def watches_devices(self) -> bool:
        """Whether a daemon watches the devices: only hosts of ours can run one that sees them."""
        return self.neuron_health and self.hosts.capacity is Capacity.EC2
