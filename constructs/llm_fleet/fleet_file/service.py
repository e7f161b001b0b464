"""A service of a fleet file: its description, with references to the rest of the fleet, and its export."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, PrivateAttr

from llm_fleet.fleet_file.clusters import MADE_BY_THE_FLEET
from llm_fleet.named_files.named_file import read_shape
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.model_shape import S3_SCHEME, Model, ModelShape, ModelSource
from llm_fleet.spec.service import ExportSpec, ServiceSpec
from llm_fleet.spec.storage import BucketSpec

OwnBuckets = Mapping[str, BucketSpec]
"""`storage.buckets` of the file."""
Buckets = Mapping[str, tuple[str, str | None]]
"""Name and KMS key of each of the fleet's own buckets, by its key in the file."""


class ServedModelConfig(Model):
    """The model that is served: in S3, on the Hub, or in the image."""

    config: str | None = None
    """Path of the model's `config.json`, relative to the fleet file, instead of `shape`. Default: none."""

    _numbers: ModelShape | None = PrivateAttr(default=None)
    _unread: tuple[Problem, ...] = PrivateAttr(default=())

    def set_directory(self, directory: Path | None) -> None:
        """Set the base directory of `config`, that of the fleet file, and read the file. The loader calls this."""
        if self.config is not None and directory is not None:
            self._numbers, problems = read_shape(directory / self.config)
            self._unread = tuple(problems)

    @property
    def unread(self) -> tuple[Problem, ...]:
        """Errors in `config`."""
        return self._unread

    @property
    def size(self) -> ModelShape | None:
        """Sizes of the model: `shape`, otherwise from `config`, otherwise derived from its name."""
        return self.shape or self._numbers or super().size

    def own_bucket(self, own: OwnBuckets) -> tuple[str, str] | None:
        """Return the key under `storage.buckets`, and the folder; `None` for a model in another location.

        As in links of a file system, the fleet's own bucket may be given by its name in S3.
        """
        if self.bucket is not None:
            return (self.bucket, self.prefix or "") if self.bucket in own else None
        if self.source is not ModelSource.S3:
            return None
        name, prefix = bucket_and_prefix(self.location)
        named = (key for key, bucket in own.items() if bucket.bucket_name == name)
        return next(((key, prefix) for key in named), None)

    @property
    def location(self) -> str:
        """The location as written; for the fleet's own bucket, with a placeholder as the bucket's name."""
        return super().location if self.bucket is None else f"{S3_SCHEME}{MADE_BY_THE_FLEET}/{self.prefix or ''}"

    def in_fleet(self, own: OwnBuckets, buckets: Buckets, *, served_name: str | None = None) -> Model:
        """Return the model with the S3 name of the fleet's own bucket, under `served_name` unless it has its own."""
        name = self.served_name or served_name
        inside = self.own_bucket(own)
        if inside is None:
            return self.narrowed(Model, shape=self.size, served_name=name)
        bucket, key_arn = buckets[inside[0]]
        place = {"s3_uri": None, "bucket": bucket, "prefix": inside[1].strip("/"), "key_arn": key_arn}
        return self.narrowed(Model, **place, shape=self.size, served_name=name)


class ExportConfig(ExportSpec):
    """An ECS task, run by hand, that compiles a checkpoint with the serving image and writes the result to `model`."""

    # Pyright does not know that models are frozen, so that an attribute may have a narrower type.
    source: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        ServedModelConfig,
        Field(examples=[{"hub": "meta-llama/Llama-3.1-8B-Instruct"}, "meta-llama/Llama-3.1-8B-Instruct"]),
    ]
    """The checkpoint: an id on the Hub, `s3://…`, or a mapping."""

    def in_fleet(self, own: OwnBuckets, model: ServedModelConfig, buckets: Buckets | None = None) -> ExportSpec:
        """Return the export; by default its checkpoint is not compiled, and has the sizes of `model`.

        `buckets`: default, unknown before deployment; then only the rules use the result.
        """
        checkpoint = self.source
        source = checkpoint.narrowed(
            ServedModelConfig, shape=checkpoint.size or model.size, compiled=checkpoint.compiled is True
        )
        placed = source if buckets is None else source.in_fleet(own, buckets)
        return self.narrowed(ExportSpec, source=placed)


class ServiceConfig(ServiceSpec):
    """A model behind an OpenAI-compatible API. Its key is the service's name and the model name that clients send."""

    name: Annotated[str, Field(alias=OWN_KEY, examples=["chat"])]  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    """Its key."""
    model: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        ServedModelConfig, Field(examples=[{"s3": "s3://my-models/tanuki-8b"}, "s3://my-models/tanuki-8b"])
    ]
    """The model that is served: `s3://…`, an id on the Hub, or a mapping."""
    export: Annotated[ExportConfig | None, Field(examples=["{source: meta-llama/Llama-3.1-8B-Instruct}"])] = None
    """A task that compiles the model for Neuron and writes it to its bucket, in a stack of its own. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of the service, in addition to those of the fleet. Default: none."""

    def name_in(self, fleet_name: str) -> str:
        """Return its name in ECS and the name of its stack: two fleets of an account may both have a service `chat`."""
        return f"{fleet_name}-{self.name}"

    def in_fleet(self, fleet_name: str, own: OwnBuckets, buckets: Buckets | None = None) -> ServiceSpec:
        """Return the service on the storage of its fleet; its model name for clients is the service's key.

        `buckets`: default, unknown before deployment; then only the rules use the result.
        """
        model = self.model if buckets is None else self.model.in_fleet(own, buckets, served_name=self.name)
        return self.narrowed(ServiceSpec, name=self.name_in(fleet_name), model=model)
