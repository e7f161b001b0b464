"""The task that compiles a model."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.services.model import ServedModelConfig
from llm_fleet.config.services.short_schema import or_text
from llm_fleet.config.services.values import NeuronInstanceName
from llm_fleet.spec.model import FleetModel


class ExportConfig(FleetModel):
    """A task, run by hand, that compiles a checkpoint with the serving image, and writes it where `model` says."""

    other_words: ClassVar[Mapping[str, str]] = {
        "model": "write `source`, the checkpoint; it is written where `model` of the service says",
        "from": "write `source`",
        "hub": "write `source: <owner>/<name>`",
        "s3": "write `source: s3://…`",
        "instance_type": "write `instance`",
        "server": "leave it out: it is the server of the service, whose image and sizes are compiled for",
    }

    source: ServedModelConfig = Field(
        examples=[{"hub": "meta-llama/Llama-3.1-8B-Instruct"}, "meta-llama/Llama-3.1-8B-Instruct"],
        json_schema_extra=or_text,
    )
    """The checkpoint: an id of the Hub, `s3://…`, or more about it."""
    instance_type: NeuronInstanceName | None = Field(default=None, alias="instance")
    """On what it is compiled. Default: the smallest type of the service's family that can; none runs in between."""
    fargate: bool = False
    """Whether it is compiled on Fargate, without Neuron devices. Default: no; `hugging-face-vllm` alone can."""

    tools_image: str | None = None
    """Image with the AWS CLI, which fetches and writes, for networks that cannot reach public.ecr.aws."""

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that relative paths begin at; for the loader."""
        self.source.stand_in(directory)
