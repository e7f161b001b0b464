"""The model that a service serves or a run trains: its sizes and its location."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from llm_fleet.catalog.model_server import known_model
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import Gibibytes, KeyArn, ParameterCount, SecretArn

OF_MODEL: Mapping[str, str] = {
    "uri": "write `s3`",
    "path": "write `s3`, or `image` for a folder of the container image",
    "id": "write `hub`",
    "model_id": "write `hub`",
    "repo": "write `hub`",
    "token": "write `token_secret`, the ARN of a secret; a token must never be in a file",
    "hf_token": "write `token_secret`, the ARN of a secret; a token must never be in a file",
    "served_model_name": "write `name`",
    "precompiled": "write `compiled`",
    "exported": "write `compiled`",
}
"""Remedies for keys below `model`."""


_GATED = frozenset(
    {"granite", "llama", "mistral", "mixtral", "phi3", "qwen2", "qwen3", "smollm3"},
)
"""Decoders with three matrices in a feed-forward block, by `model_type`: the same formula counts their weights."""


class ModelShape(Spec):
    """Sizes of a model; all but `parameters` are in the model's `config.json`."""

    parameters: Annotated[ParameterCount, Field(examples=["8 B"])]
    """Number of parameters, e.g. `7.5 B` or `560 M`."""
    layers: Annotated[int, Field(examples=[32])]
    """Decoder layers: `num_hidden_layers`."""
    attention_heads: Annotated[int, Field(alias="heads", examples=[32])]
    """Query heads in a layer: `num_attention_heads`."""
    kv_heads: Annotated[int, Field(examples=[8])]
    """Key and value heads in a layer: `num_key_value_heads`, or the same number as `heads` if the model has no such
    value."""
    head_dim: Annotated[int, Field(examples=[128])]
    """Dimension of a head: `head_dim`, or `hidden_size` divided by `heads`."""
    bytes_per_parameter: Annotated[int, Field(alias="bytes")] = 2
    """Bytes for each parameter. Default: 2, for bf16 and fp16, to which the Neuron servers convert any checkpoint."""


class TrainedShape(ModelShape):
    """Sizes of a model that is trained; all but `parameters` are in its `config.json`."""

    other_words: ClassVar[Mapping[str, str]] = {
        "hidden_size": "write `hidden`",
        "intermediate_size": "write `intermediate`",
        "vocab_size": "write `vocabulary`",
        "num_hidden_layers": "write `layers`",
        "num_attention_heads": "write `heads`",
        "num_key_value_heads": "write `kv_heads`",
        "max_position_embeddings": "write `max_sequence`",
    }

    hidden: Annotated[int, Field(examples=[4096])]
    """Width of the hidden layers: `hidden_size`."""
    intermediate: Annotated[int, Field(examples=[14336])]
    """Inner width of the gated feed-forward block: `intermediate_size`."""
    vocabulary: Annotated[int, Field(examples=[128256])]
    """Size of the vocabulary: `vocab_size`."""
    max_sequence: int | None = None
    """Maximum sequence length of the model: `max_position_embeddings`. Default: not checked."""


class _Unreported(Exception):
    """The sizes cannot be read from the file; the text is the problem's message."""


def known_shape(location: str) -> ModelShape | None:
    """Return the sizes of the model whose name is the last part of `location`; `None` if the name is unknown.

    `location` is `s3://bucket/models/tanuki-8b`, `meta-llama/Llama-2-7b-hf` or a path.
    """
    model = known_model(location.rstrip("/").rsplit("/", 1)[-1])
    return None if model is None else shape_of_config(model.config)[0]


def shape_of_config(config: Mapping[str, Any]) -> tuple[ModelShape | None, list[Problem]]:
    """Return the sizes in a `config.json`, or what is wrong with it."""
    try:
        numbers = _gptj(config) if config.get("model_type") == "gptj" else _gated(config)
    except _Unreported as unreported:
        return None, [
            Problem(
                code=Code.MODEL_CONFIG,
                message=str(unreported),
                remedy="write the sizes instead: parameters, layers, attention_heads, kv_heads and head_dim",
            )
        ]
    return numbers, []


def _gated(config: Mapping[str, Any]) -> ModelShape:
    """Count the weights of a Llama-type decoder: attention, gated feed-forward blocks, two norms in each layer."""
    kind = config.get("model_type")
    if kind not in _GATED:
        raise _Unreported(f"llm-fleet cannot count the weights of model_type {kind!r}")
    if config.get("quantization_config"):
        raise _Unreported("the model is quantized; the Neuron servers do not load quantized models")
    hidden, inner = _int(config, "hidden_size"), _int(config, "intermediate_size")
    layers, heads = _int(config, "num_hidden_layers"), _int(config, "num_attention_heads")
    kv_heads = _int(config, "num_key_value_heads", otherwise=heads)
    head_dim = _int(config, "head_dim", otherwise=hidden // heads)
    experts = _int(config, "num_local_experts", otherwise=1)
    queries, keys = heads * head_dim, kv_heads * head_dim
    attention = 2 * hidden * queries + 2 * hidden * keys
    if kind == "qwen2" or config.get("attention_bias"):
        attention += queries + 2 * keys + (hidden if config.get("attention_bias") else 0)
    if kind == "qwen3":
        attention += 2 * head_dim
    feed_forward = experts * 3 * hidden * inner + (hidden * experts if experts > 1 else 0)
    return ModelShape(
        parameters=_embeddings(config, hidden) + layers * (attention + feed_forward + 2 * hidden) + hidden,
        layers=layers,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
    )


def _gptj(config: Mapping[str, Any]) -> ModelShape:
    """Count the weights of GPT-J: one norm in each layer, a feed-forward block of two matrices with biases, a biased
    head."""
    hidden, layers, heads = _int(config, "n_embd"), _int(config, "n_layer"), _int(config, "n_head")
    inner = _int(config, "n_inner", otherwise=4 * hidden)
    layer = 4 * hidden * hidden + 2 * hidden * inner + inner + hidden + 2 * hidden
    head_bias = _int(config, "vocab_size")
    return ModelShape(
        parameters=_embeddings(config, hidden) + layers * layer + 2 * hidden + head_bias,
        layers=layers,
        attention_heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
    )


def _embeddings(config: Mapping[str, Any], hidden: int) -> int:
    copies = 1 if config.get("tie_word_embeddings", False) else 2
    return copies * _int(config, "vocab_size") * hidden


def _int(config: Mapping[str, Any], name: str, *, otherwise: int | None = None) -> int:
    value = config.get(name)
    if value is None and otherwise is not None:
        return otherwise
    if type(value) is not int or value < 1:
        raise _Unreported(
            f"{name} is missing" if value is None else f"{name} is {value!r}, but must be a number above 0"
        )
    return value


S3_SCHEME = "s3://"


class ModelSource(StrEnum):
    """Where the server loads the model from."""

    S3 = "s3"
    """In a bucket, mounted on the host by Mountpoint for Amazon S3."""
    HUB = "hub"
    """On the Hugging Face Hub; downloaded when the task starts."""
    IMAGE = "image"
    """In the container image."""


class Model(Spec):
    """The model that is served: in S3, on the Hub, or in the image.

    Errors: LF710 to LF719, LF724 and LF725.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_MODEL

    s3_uri: Annotated[str | None, Field(alias="s3")] = None
    """S3 folder of the model, e.g. `s3://my-models/tanuki-8b`; hosts mount it read-only. The bucket can be one of the
    fleet's own, by its `name`."""
    bucket: str | None = None
    """Name under `storage.buckets`, instead of `s3`: the fleet's own bucket, whatever its name in S3."""
    prefix: str | None = None
    """With `bucket`: the model's folder in it, e.g. `tanuki-8b`. Default: the whole bucket."""
    hub_id: Annotated[str | None, Field(alias="hub")] = None
    """Model id on the Hugging Face Hub, e.g. `meta-llama/Llama-3.1-8B-Instruct`; each task downloads the model."""
    image_path: Annotated[str | None, Field(alias="image")] = None
    """Folder of the model in the container image, e.g. `/models/tanuki-8b`."""
    key_arn: Annotated[KeyArn | None, Field(alias="key")] = None
    """ARN of the KMS key of a bucket that is not part of the fleet. Default: none; S3 encrypts the bucket with its own
    key."""
    cache_gib: Annotated[Gibibytes | None, Field(alias="cache")] = None
    """Size of the disk cache for a model in S3, on each host. Default: the whole model."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: the main branch, which can change."""
    token_secret_arn: Annotated[SecretArn | None, Field(alias="token_secret")] = None
    """ARN of the secret whose value is the Hub token, for a gated model. Default: none."""
    token_key_arn: Annotated[KeyArn | None, Field(alias="token_key")] = None
    """ARN of the KMS key of that secret. Default: none; Secrets Manager encrypts it with an AWS managed key."""
    compiled: bool | None = None
    """Whether the model is already exported for Neuron. Default: yes in S3 and in the image, no on the Hub."""
    served_name: Annotated[str | None, Field(alias="name")] = None
    """Name that clients send as `model`. Default: the service's key in this file."""
    shape: ModelShape | None = None
    """Sizes of the model. Default: derived from the model's name, if possible."""

    @classmethod
    def from_bucket(cls, bucket: Any, prefix: str, **more: Any) -> Self:
        """Return the model below `prefix` in a bucket of this app or an imported one, with the bucket's own KMS key.

        `more`: additional fields.
        """
        key = bucket.encryption_key
        key_arn = key.key_arn if key else None
        return cls(bucket=bucket.bucket_name, prefix=prefix.strip("/"), key_arn=key_arn, **more)

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Read a URI as S3, an absolute path as a folder of the image, and any other text as an id on the Hub."""
        if not isinstance(written, str):
            return written
        if "://" in written:
            return {"s3": written}
        return {"image" if written.startswith("/") else "hub": written}

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Offer a string instead of the mapping."""
        return [{"type": "string", "examples": ["s3://my-models/tanuki-8b", "meta-llama/Llama-3.1-8B-Instruct"]}]

    @classmethod
    def in_python(cls) -> str:
        """Return how one is written in Python, for remedies."""
        return 'Model(s3_uri="s3://my-models/tanuki-8b"), or another place'

    @property
    def source(self) -> ModelSource:
        """Kind of the model's location."""
        if self.hub_id is not None:
            return ModelSource.HUB
        return ModelSource.IMAGE if self.image_path is not None else ModelSource.S3

    @property
    def location(self) -> str:
        """`s3://bucket/prefix`, an id on the Hub, or a path in the image."""
        if self.bucket is not None:
            return f"{S3_SCHEME}{self.bucket}/{self.prefix or ''}"
        return self.hub_id or self.image_path or self.s3_uri or ""

    @property
    def place(self) -> tuple[str, ...]:
        """Names of the attribute that contains the location; empty where only the bucket is set."""
        prefix = "prefix" if self.bucket is not None else ""
        named = (
            name for name in (prefix, "hub_id", "image_path", "s3_uri") if name and getattr(self, name) is not None
        )
        return tuple(named)[:1]

    @property
    def place_value(self) -> str:
        """Value of that attribute."""
        return getattr(self, self.place[0]) if self.place else self.location

    @property
    def is_compiled(self) -> bool:
        """Whether the model is already exported for Neuron: `compiled`, or derived from its location."""
        return self.source is not ModelSource.HUB if self.compiled is None else self.compiled

    @property
    def size(self) -> ModelShape | None:
        """Sizes of the model: `shape`, or derived from its name."""
        return self.shape or known_shape(self.location)
