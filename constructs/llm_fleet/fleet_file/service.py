"""A service of a fleet file: beside its description, what it names of the rest of the fleet, and its export."""

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
"""Name and key of each of the fleet's own buckets, by its key in the file."""


class ServedModelConfig(Model):
    """The model that is served: in S3, on the Hub, or in the image."""

    config: str | None = None
    """Its `config.json` on this machine, from where this file lies, in place of `shape`. Default: none."""

    _numbers: ModelShape | None = PrivateAttr(default=None)
    _unread: tuple[Problem, ...] = PrivateAttr(default=())

    def stand_in(self, directory: Path | None) -> None:
        """Let `config` begin at `directory`, that of the fleet file, and read it; for the loader."""
        if self.config is not None and directory is not None:
            self._numbers, problems = read_shape(directory / self.config)
            self._unread = tuple(problems)

    @property
    def unread(self) -> tuple[Problem, ...]:
        """Why `config` tells nothing."""
        return self._unread

    @property
    def size(self) -> ModelShape | None:
        """How large it is: as told, else what `config` tells, else what is known by its name."""
        return self.shape or self._numbers or super().size

    def own_bucket(self, own: OwnBuckets) -> tuple[str, str] | None:
        """Return the key under `storage.buckets`, and the folder; `None` for a model that is elsewhere.

        As for links of a file system, the fleet's own bucket may be named as S3 knows it.
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
        """As written; in a bucket of the fleet's own, below a name that stands for it."""
        return super().location if self.bucket is None else f"{S3_SCHEME}{MADE_BY_THE_FLEET}/{self.prefix or ''}"

    def in_fleet(self, own: OwnBuckets, buckets: Buckets, *, served_name: str | None = None) -> Model:
        """Return the model with the fleet's own bucket by its name in S3, under `served_name` unless it has its own."""
        name = self.served_name or served_name
        inside = self.own_bucket(own)
        if inside is None:
            return self.narrowed(Model, shape=self.size, served_name=name)
        bucket, key_arn = buckets[inside[0]]
        place = {"s3_uri": None, "bucket": bucket, "prefix": inside[1].strip("/"), "key_arn": key_arn}
        return self.narrowed(Model, **place, shape=self.size, served_name=name)


class ExportConfig(ExportSpec):
    """A task, run by hand, that compiles a checkpoint with the serving image, and writes it where `model` says."""

    # Pyright does not see that models are frozen, where an attribute may have a narrower type.
    source: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        ServedModelConfig,
        Field(examples=[{"hub": "meta-llama/Llama-3.1-8B-Instruct"}, "meta-llama/Llama-3.1-8B-Instruct"]),
    ]
    """The checkpoint: an id of the Hub, `s3://…`, or more about it."""

    def in_fleet(self, own: OwnBuckets, model: ServedModelConfig, buckets: Buckets | None = None) -> ExportSpec:
        """Return the export; its checkpoint is not compiled, and as large as `model`, unless it says otherwise.

        `buckets`: default, they are made later; only the rules are asked then.
        """
        reported = self.source
        source = reported.narrowed(
            ServedModelConfig, shape=reported.size or model.size, compiled=reported.compiled is True
        )
        placed = source if buckets is None else source.in_fleet(own, buckets)
        return self.narrowed(ExportSpec, source=placed)


class ServiceConfig(ServiceSpec):
    """A model behind an OpenAI-compatible endpoint. Its key is the service's name, and what clients ask for."""

    name: Annotated[str, Field(alias=OWN_KEY, examples=["chat"])]  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    """Its key."""
    model: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        ServedModelConfig, Field(examples=[{"s3": "s3://my-models/tanuki-8b"}, "s3://my-models/tanuki-8b"])
    ]
    """What is served: `s3://…`, an id of the Hub, or more about it."""
    export: Annotated[ExportConfig | None, Field(examples=["{source: meta-llama/Llama-3.1-8B-Instruct}"])] = None
    """A task that compiles the model for Neuron into its bucket, in a stack of its own. Default: none."""
    tags: Mapping[str, str] = {}
    """Tags of the service, next to those of the fleet. Default: none."""

    def name_in(self, fleet_name: str) -> str:
        """Return what ECS knows it by, and how its stack is called: two fleets of an account may both have a `chat`."""
        return f"{fleet_name}-{self.name}"

    def in_fleet(self, fleet_name: str, own: OwnBuckets, buckets: Buckets | None = None) -> ServiceSpec:
        """Return the service on the storage of its fleet; clients know its model by the service's key.

        `buckets`: default, they are made later; only the rules are asked then.
        """
        model = self.model if buckets is None else self.model.in_fleet(own, buckets, served_name=self.name)
        return self.narrowed(ServiceSpec, name=self.name_in(fleet_name), model=model)
