"""The model that a service serves: in S3, on the Hub, or in the container image."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from llm_fleet.spec import service_words as words
from llm_fleet.spec.model_shape import ModelShape, known_shape
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import Gibibytes, KeyArn, SecretArn

S3_SCHEME = "s3://"


class ModelSource(StrEnum):
    """Where the server finds the model."""

    S3 = "s3"
    """In a bucket, mounted on the host by Mountpoint for Amazon S3."""
    HUB = "hub"
    """On the Hugging Face Hub; downloaded when the task starts."""
    IMAGE = "image"
    """In the container image itself."""


class Model(Spec):
    """The model that is served: in S3, on the Hub, or in the image.

    What is wrong with it is LF710 to LF719, LF724 and LF725.
    """

    other_words: ClassVar[Mapping[str, str]] = words.OF_MODEL

    s3_uri: Annotated[str | None, Field(alias="s3")] = None
    """Its folder in S3, e.g. `s3://my-models/tanuki-8b`; hosts mount it read-only. The bucket may be one of the
    fleet's own, by its `name`."""
    bucket: str | None = None
    """A name under `storage.buckets`, in place of `s3`: the fleet's own bucket, whatever S3 calls it."""
    prefix: str | None = None
    """With `bucket`: its folder there, e.g. `tanuki-8b`. Default: the whole bucket."""
    hub_id: Annotated[str | None, Field(alias="hub")] = None
    """Its id on the Hugging Face Hub, e.g. `meta-llama/Llama-3.1-8B-Instruct`; each task downloads it."""
    image_path: Annotated[str | None, Field(alias="image")] = None
    """Its folder in the container image, e.g. `/models/tanuki-8b`."""
    key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of a bucket that is not the fleet's. Default: none; S3 encrypts it by itself."""
    cache_gib: Annotated[Gibibytes | None, Field(alias="cache")] = None
    """How much of a model in S3 each host keeps on its disk. Default: all of it."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: its main branch, which may move."""
    token_secret_arn: Annotated[SecretArn | None, Field(alias="token_secret")] = None
    """ARN of the secret whose text is the Hub's token, for a gated model. Default: none."""
    token_key_arn: Annotated[KeyArn | None, Field(alias="token_key")] = None
    """ARN of the KMS key of that secret. Default: none; Secrets Manager encrypts it with a key of AWS's."""
    compiled: bool | None = None
    """Whether it was exported for Neuron already. Default: yes in S3 and in the image, no on the Hub."""
    served_name: Annotated[str | None, Field(alias="name")] = None
    """What clients write as `model`. Default: the service's key in this file."""
    shape: ModelShape | None = None
    """How large it is. Default: what is known of a model of that name."""

    @classmethod
    def from_bucket(cls, bucket: Any, prefix: str, **more: Any) -> Self:
        """Return the model below `prefix` in a bucket of this app or an imported one, with the bucket's own KMS key.

        `more`: further fields.
        """
        key = bucket.encryption_key
        key_arn = key.key_arn if key else None
        return cls(bucket=bucket.bucket_name, prefix=prefix.strip("/"), key_arn=key_arn, **more)

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """A URI is of S3, a path is in the image, and what is left is an id of the Hub."""
        if not isinstance(written, str):
            return written
        if "://" in written:
            return {"s3": written}
        return {"image" if written.startswith("/") else "hub": written}

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Let text stand for the mapping."""
        return [{"type": "string", "examples": ["s3://my-models/tanuki-8b", "meta-llama/Llama-3.1-8B-Instruct"]}]

    @classmethod
    def in_python(cls) -> str:
        """Return how one is written in Python, for remedies."""
        return 'Model(s3_uri="s3://my-models/tanuki-8b"), or another place'

    @property
    def source(self) -> ModelSource:
        """Where the server finds it."""
        if self.hub_id is not None:
            return ModelSource.HUB
        return ModelSource.IMAGE if self.image_path is not None else ModelSource.S3

    @property
    def location(self) -> str:
        """`s3://bucket/prefix`, an id of the Hub, or a path in the image."""
        if self.bucket is not None:
            return f"{S3_SCHEME}{self.bucket}/{self.prefix or ''}"
        return self.hub_id or self.image_path or self.s3_uri or ""

    @property
    def place(self) -> tuple[str, ...]:
        """The attribute that says where it is; none where only the bucket was named."""
        prefix = "prefix" if self.bucket is not None else ""
        named = (
            name for name in (prefix, "hub_id", "image_path", "s3_uri") if name and getattr(self, name) is not None
        )
        return tuple(named)[:1]

    @property
    def place_value(self) -> str:
        """What stands there."""
        return getattr(self, self.place[0]) if self.place else self.location

    @property
    def is_compiled(self) -> bool:
        """Whether it was exported for Neuron already: as told, else by where it is."""
        return self.source is not ModelSource.HUB if self.compiled is None else self.compiled

    @property
    def size(self) -> ModelShape | None:
        """How large it is: as told, else what is known by its name."""
        return self.shape or known_shape(self.location)
