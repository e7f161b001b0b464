"""The model that an endpoint serves."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from llm_fleet.config.services.model import MADE_BY_THE_FLEET
from llm_fleet.config.services.values import ParameterCount
from llm_fleet.rules.sagemaker.endpoint_model import S3_SCHEME, TARBALL_ENDING
from llm_fleet.rules.sagemaker.endpoint_terms import EndpointModelSource
from llm_fleet.spec.model import FleetModel
from llm_fleet.spec.values import KeyArn

_GATED = "leave it out: SageMaker brings no secret to a container; copy a gated model into a bucket, and write `s3`"


class EndpointModelConfig(FleetModel):
    """The model that is served: on the Hub, as files in S3, or packed in S3 (`EndpointModelLike`)."""

    other_words: ClassVar[Mapping[str, str]] = {
        "uri": "write `s3`, or `tarball` for a .tar.gz archive",
        "model_data": "write `tarball`",
        "id": "write `hub`",
        "model_id": "write `hub`",
        "repo": "write `hub`",
        "token": _GATED,
        "hf_token": _GATED,
        "token_secret": _GATED,
    }

    hub_id: str | None = Field(default=None, alias="hub")
    """Its id on the Hugging Face Hub, e.g. `EleutherAI/gpt-j-6b`; each instance downloads it."""
    s3_uri: str | None = Field(default=None, alias="s3")
    """The folder of its files, e.g. `s3://my-models/gpt-j/`."""
    tarball_uri: str | None = Field(default=None, alias="tarball")
    """Its archive, e.g. `s3://my-models/gpt-j/model.tar.gz`."""
    bucket: str | None = None
    """A name under `storage.buckets`, in place of `s3` and `tarball`: the fleet's own bucket."""
    key: str | None = None
    """With `bucket`: its folder there, or its archive, e.g. `gpt-j/` or `gpt-j/model.tar.gz`."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: its main branch, which may move."""
    task: str | None = None
    """What transformers' pipeline does, e.g. `text-classification`. Default: what the model itself tells."""
    parameters: ParameterCount | None = None
    """How many weights it has, e.g. `8 B`. Default: what is known of a model of that name."""
    key_arn: KeyArn | None = Field(default=None, alias="encryption_key")
    """ARN of the KMS key of a bucket that is not the fleet's. Default: none; S3 encrypts it by itself."""

    @property
    def source(self) -> EndpointModelSource:
        """Where it is."""
        if self.hub_id is not None:
            return EndpointModelSource.HUB
        packed = self.tarball_uri is not None or (self.key or "").endswith(TARBALL_ENDING)
        return EndpointModelSource.TARBALL if packed else EndpointModelSource.S3

    @property
    def location(self) -> str:
        """As written; in a bucket of the fleet's own, below a name that stands for it."""
        if self.bucket is not None:
            return f"{S3_SCHEME}{MADE_BY_THE_FLEET}/{self.key or ''}"
        return self.hub_id or self.s3_uri or self.tarball_uri or ""
