"""The program that serves a model, and its settings."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from pydantic import Field

from llm_fleet.catalog.model_server import ModelServerFacts, default_batch_size, default_sequence_length, model_servers
from llm_fleet.spec.spec import Spec
from llm_fleet.spec.values import BodyBytes, Seconds

OF_SERVER: Mapping[str, str] = {
    "tp": "write `tensor_parallel`",
    "tensor_parallel_size": "write `tensor_parallel`",
    "num_cores": "write `tensor_parallel`",
    "HF_NUM_CORES": "write `tensor_parallel`",
    "batch": "write `batch_size`",
    "sequence": "write `sequence_length`",
    "max_batch_size": "write `batch_size`",
    "MAX_BATCH_SIZE": "write `batch_size`",
    "max_num_seqs": "write `batch_size`",
    "max_total_tokens": "write `sequence_length`",
    "MAX_TOTAL_TOKENS": "write `sequence_length`",
    "max_model_len": "write `sequence_length`",
    "model": "write `model` of the service, next to `server`",
    "version": "write `image`, and `runtime` if the catalog does not have it",
    "api_key": "write `front: {auth: api-key}` of the service; the key is a secret and must never be in a file",
    "port": "remove it: every server listens on port 8080 of its own network interface",
    "env": "write `environment`",
    "variables": "write `environment`",
    "cap_add": "write `capabilities`",
}
"""Remedies for keys below `server`."""


class ServerKind(StrEnum):
    """Program that serves the model."""

    TGI = "tgi"
    """Hugging Face Text Generation Inference with its Neuron back end. In maintenance: 3.3.7 is the last release."""
    HUGGING_FACE_VLLM = "hugging-face-vllm"
    """vLLM with the platform plugin of optimum-neuron, in Hugging Face's image."""
    AWS_VLLM = "aws-vllm"
    """vLLM with NxD Inference, in AWS's image."""
    AWS_VLLM_NEURON = "aws-vllm-neuron"
    """vLLM with AWS's vLLM Neuron plugin: trn2 and newer only."""


class ModelServer(Spec):
    """A model server: a `TgiServer`, `HuggingFaceVllmServer`, `AwsVllmServer` or `AwsVllmNeuronServer`.

    Sizes have the same names for all servers, so only `kind` changes with another server: `tensor_parallel`,
    `batch_size` and `sequence_length` are translated into each server's own options. Errors: LF700 to LF709 and LF766.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_SERVER

    if TYPE_CHECKING:
        kind: ServerKind = ServerKind.TGI
        """Program that serves the model: each class has its own value."""
    tensor_parallel: int | None = None
    """Number of NeuronCores that each layer is split over. Default: all of the instance."""
    batch_size: int = default_batch_size()
    """Number of sequences that are generated at the same time; compiled into the model. Default: 4."""
    sequence_length: int = default_sequence_length()
    """Maximum number of tokens of a prompt and its answer together; compiled into the model. Default: 4096."""
    image: str | None = None
    """URI of another image. Default: the catalog's image, whose driver and compiler are known."""
    runtime_version: Annotated[str | None, Field(alias="runtime")] = None
    """Version of `aws-neuronx-runtime-lib` in `image`, in quotes, by which the host's driver is chosen."""

    environment: Mapping[str, str] = {}
    """Additional environment variables of the container, by name; no secrets. Default: none."""
    capabilities: tuple[str, ...] = ()
    """Linux capabilities of the container in addition to Docker's defaults, e.g. `IPC_LOCK`. Default: none."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of this class that the base class does not have, by field name."""
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in _OF_ALL}
        return {name: value for name, value in own.items() if value not in (None, (), {})}

    @property
    def facts(self) -> ModelServerFacts:
        """Facts of the catalog about the program: image, model families, runtime, ports."""
        return model_servers()[self.kind]

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Read a string as `kind` with all defaults; a mapping without `kind` is TGI."""
        if isinstance(written, str):
            return {"kind": written}
        mapping = cast("dict[str, Any]", written)
        return {"kind": ServerKind.TGI.value, **mapping} if isinstance(written, dict) else written

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Offer the kinds as a string instead of the mapping."""
        return [{"enum": [kind.value for kind in ServerKind]}]


_OF_ALL = frozenset({"kind", *ModelServer.model_fields})


class TgiServer(ModelServer):
    """Hugging Face Text Generation Inference on Neuron. In maintenance; to change the server, change `kind`."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[ServerKind.TGI], Field(examples=["tgi"])
    ] = ServerKind.TGI
    """Program that serves the model."""
    cast_type: Literal["bf16", "fp16"] | None = None
    """Data type to which the weights are cast when they are compiled. Default: that of the exported model."""
    max_input_tokens: int | None = None
    """Maximum number of tokens of a prompt. Default: half of `sequence_length`, TGI's own."""
    max_batch_prefill_tokens: int | None = None
    """Maximum number of tokens of all prompts in a prefill batch. Default: `batch_size` times the longest prompt."""
    max_concurrent_requests: int | None = None
    """Maximum number of requests of a task, including those that wait; more are answered with 429."""
    max_waiting_tokens: int | None = None
    """Tokens that are generated before waiting requests are added to the batch. Default: 20, TGI's own."""
    waiting_served_ratio: float | None = None
    """Ratio of waiting to running requests above which waiting requests are added to the batch. Default: TGI's own."""
    max_client_batch_size: int | None = None
    """Maximum number of prompts in one request. Default: 4, TGI's own."""
    max_best_of: int | None = None
    """Maximum of `best_of`, the number of answers that a request can choose the best from. Default: TGI's own."""
    max_stop_sequences: int | None = None
    """Maximum number of stop sequences in a request. Default: TGI's own."""
    max_top_n_tokens: int | None = None
    """Maximum number of alternatives to each token that a request can ask for. Default: TGI's own."""
    payload_limit_bytes: Annotated[BodyBytes | None, Field(alias="payload_limit")] = None
    """Maximum size of a request. Default: `2 MB`, TGI's own."""
    validation_workers: int | None = None
    """Number of tokenizer processes. Default: 2, TGI's own."""
    graceful_termination_seconds: Annotated[Seconds | None, Field(alias="graceful_termination")] = None
    """Time to finish running requests when the server is stopped. Default: `90 s`."""
    json_output: bool | None = None
    """Whether the log is in JSON. Default: yes, for CloudWatch Logs Insights."""
    usage_stats: Literal["on", "off", "no-stack"] | None = None
    """Whether it sends usage statistics to Hugging Face. Default: `off`."""
    cors_allow_origin: str | None = None
    """Origins of web pages that may call it, separated by commas. Default: none."""
    otlp_endpoint: str | None = None
    """OTLP endpoint (gRPC) for traces. Default: no traces are sent."""
    otlp_service_name: str | None = None
    """Service name in traces. Default: TGI's own."""
    tokenizer_config_path: str | None = None
    """Path of a tokenizer configuration in the container. Default: the model's own."""
    disable_grammar_support: bool | None = None
    """Whether requests cannot set a grammar for answers. Default: they can."""
    trust_remote_code: bool | None = None
    """Whether Python code in the model's folder is executed. Default: no."""


class VllmServer(ModelServer):
    """vLLM in any of its images."""

    chat_template: str | None = None
    """Path of a chat template in the container. Default: the model's own."""
    tool_call_parser: str | None = None
    """Parser for tool calls in answers, e.g. `llama3_json`. Default: none."""
    enable_auto_tool_choice: bool | None = None
    """Whether the model can decide to call a tool. Default: no."""
    trust_remote_code: bool | None = None
    """Whether Python code in the model's folder is executed. Default: no."""
    extra_arguments: tuple[str, ...] = ()
    """Additional arguments of the server, each a list item, passed unchanged. Default: none."""


class HuggingFaceVllmServer(VllmServer):
    """vLLM with the platform plugin of optimum-neuron, for inf2 and trn1."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[ServerKind.HUGGING_FACE_VLLM], Field(examples=["hugging-face-vllm"])
    ] = ServerKind.HUGGING_FACE_VLLM
    """Program that serves the model."""
    task: Literal["generate", "embed"] | None = None
    """Whether it generates text or computes embeddings. Default: `generate`."""
    allow_non_cached_model: bool | None = None
    """Whether a model of the Hub that is in no Neuron cache may be compiled when a task starts. Default: no."""


class NxdVllmServer(VllmServer):
    """vLLM in AWS's images."""

    additional_config: Mapping[str, Any] = {}
    """vLLM's `--additional-config`, with the options of Neuron. Default: none."""


class AwsVllmServer(NxdVllmServer):
    """vLLM with NxD Inference, in AWS's image: inf2, trn1 and trn2."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[ServerKind.AWS_VLLM], Field(examples=["aws-vllm"])
    ] = ServerKind.AWS_VLLM
    """Program that serves the model."""
    compiled_artifacts: str | None = None
    """Folder of the compiled model in the container. Default: one in the host's cache, where the model is compiled."""


class AwsVllmNeuronServer(NxdVllmServer):
    """vLLM with AWS's vLLM Neuron plugin: trn2 and newer only."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[ServerKind.AWS_VLLM_NEURON], Field(examples=["aws-vllm-neuron"])
    ] = ServerKind.AWS_VLLM_NEURON
    """Program that serves the model."""
    compilation_timeout_seconds: Annotated[Seconds | None, Field(alias="compilation_timeout")] = None
    """Timeout of compilation when a task starts. Default: the `load_time` of the service."""
    engine_ready_timeout_seconds: Annotated[Seconds | None, Field(alias="engine_ready_timeout")] = None
    """Timeout for the server to be ready. Default: the `load_time` of the service."""
    execute_model_timeout_seconds: Annotated[Seconds | None, Field(alias="execute_model_timeout")] = None
    """Timeout of one step of the model. Default: `20 min`, as a step may wait for a compilation."""


AnyServer = Annotated[
    TgiServer | HuggingFaceVllmServer | AwsVllmServer | AwsVllmNeuronServer, Field(discriminator="kind")
]
"""A model server; its `kind` decides the class."""
SERVERS: Mapping[ServerKind, type[ModelServer]] = {
    ServerKind.TGI: TgiServer,
    ServerKind.HUGGING_FACE_VLLM: HuggingFaceVllmServer,
    ServerKind.AWS_VLLM: AwsVllmServer,
    ServerKind.AWS_VLLM_NEURON: AwsVllmNeuronServer,
}
"""The class of each kind."""
