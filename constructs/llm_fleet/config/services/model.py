"""The model that a service serves."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field, PrivateAttr

from llm_fleet.config.services.model_shape import ShapeConfig
from llm_fleet.named_files.named_file import read_shape
from llm_fleet.rules.inference.model import S3_SCHEME
from llm_fleet.rules.inference.model_shape import ModelNumbers, known_shape
from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import Gibibytes, KeyArn, SecretArn

MADE_BY_THE_FLEET = "made-by-the-fleet"
"""Stands for the name of a bucket that only the deployment knows."""


class ServedModelConfig(FleetModel):
    """The model that is served: in S3, on the Hub, or in the image (`ModelLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "uri": "write `s3`",
        "path": "write `s3`, or `image` for a folder of the container image",
        "id": "write `hub`",
        "model_id": "write `hub`",
        "repo": "write `hub`",
        "token": "write `token_secret`, the ARN of a secret; a token is never text of a file",
        "hf_token": "write `token_secret`, the ARN of a secret; a token is never text of a file",
        "served_model_name": "write `name`",
        "precompiled": "write `compiled`",
        "exported": "write `compiled`",
    }

    s3_uri: str | None = Field(default=None, alias="s3")
    """Its folder in S3, e.g. `s3://my-models/tanuki-8b`; hosts mount it read-only. The bucket may be one of the
    fleet's own, by its `name`."""
    bucket: str | None = None
    """A name under `storage.buckets`, in place of `s3`: the fleet's own bucket, whatever S3 calls it."""
    prefix: str | None = None
    """With `bucket`: its folder there, e.g. `tanuki-8b`. Default: the whole bucket."""
    hub_id: str | None = Field(default=None, alias="hub")
    """Its id on the Hugging Face Hub, e.g. `meta-llama/Llama-3.1-8B-Instruct`; each task downloads it."""
    image_path: str | None = Field(default=None, alias="image")
    """Its folder in the container image, e.g. `/models/tanuki-8b`."""
    key_arn: KeyArn | None = Field(default=None, alias="key")
    """ARN of the KMS key of a bucket that is not the fleet's. Default: none; S3 encrypts it by itself."""
    cache_gib: Gibibytes | None = Field(default=None, alias="cache")
    """How much of a model in S3 each host keeps on its disk. Default: all of it."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: its main branch, which may move."""
    token_secret_arn: SecretArn | None = Field(default=None, alias="token_secret")
    """ARN of the secret whose text is the Hub's token, for a gated model. Default: none."""
    token_key_arn: KeyArn | None = Field(default=None, alias="token_key")
    """ARN of the KMS key of that secret. Default: none; Secrets Manager encrypts it with a key of AWS's."""
    own_compiled: bool | None = Field(default=None, alias="compiled")
    """Whether it was exported for Neuron already. Default: yes in S3 and in the image, no on the Hub."""
    served_name: str | None = Field(default=None, alias="name")
    """What clients write as `model`. Default: the service's key in this file."""
    own_shape: ShapeConfig | None = Field(default=None, alias="shape")
    """How large it is. Default: what is known of a model of that name."""
    config: str | None = None
    """Its `config.json` on this machine, from where this file lies, in place of `shape`. Default: none."""

    _numbers: ModelNumbers | None = PrivateAttr(default=None)
    _unread: tuple[Problem, ...] = PrivateAttr(default=())

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that `config` begins at, and read it."""
        if self.config is not None:
            self._numbers, problems = read_shape(directory / self.config)
            self._unread = tuple(problems)

    @property
    def unread(self) -> tuple[Problem, ...]:
        """Why `config` tells nothing."""
        return self._unread

    @property
    def source(self) -> ModelSource:
        """Where the server finds it."""
        if self.hub_id is not None:
            return ModelSource.HUB
        return ModelSource.IMAGE if self.image_path is not None else ModelSource.S3

    @property
    def location(self) -> str:
        """As written; in a bucket of the fleet's own, below a name that stands for it."""
        if self.bucket is not None:
            return f"{S3_SCHEME}{MADE_BY_THE_FLEET}/{self.prefix or ''}"
        return self.hub_id or self.image_path or self.s3_uri or ""

    @property
    def compiled(self) -> bool:
        """As written, else by where it is."""
        return self.source is not ModelSource.HUB if self.own_compiled is None else self.own_compiled

    @property
    def shape(self) -> ShapeLike | None:
        """As written, else what `config` tells, else what is known by its name."""
        return self.own_shape or self._numbers or known_shape(self.location)
