"""What becomes of a trained model."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.values import NeuronInstanceName


class JobExportConfig(FleetModel):
    """The trained model as a service reads it: either a service of this file, or all that one needs to know."""

    written_as: ClassVar[Mapping[str, str]] = {"server_kind": "server"}
    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("s3", "place", "uri", "model"), "write `to`"),
        "batch": "write `batch_size`",
        "sequence": "write `sequence_length`",
    }

    service: str | None = None
    """A name under `services`: its model, server, instance and sizes. Default: none; then `to` says where."""
    to: str | None = None
    """Where in S3 a server reads it, in a bucket of the cluster's `writes`; in place of `service`."""
    server: ServerKind | None = None
    """With `to`: which server it is compiled for. Default: `tgi`."""
    instance_type: NeuronInstanceName | None = Field(default=None, alias="instance")
    """With `to`: on what it is served. Default: `inf2.xlarge`."""
    tensor_parallel: int | None = None
    """With `to`: over how many NeuronCores. Default: all of the instance."""
    batch_size: int | None = None
    """With `to`: how many sequences are generated side by side. Default: 4."""
    sequence_length: int | None = None
    """With `to`: tokens of prompt and answer together, at most. Default: 4096."""
    environment: str | None = None
    """A name under `training: environments` of the job's cluster: what it is compiled in. Default: the one of
    `use: export` there; servers that compile by themselves need none."""
