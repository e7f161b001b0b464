"""The program that serves a model, and what it is told."""

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
    "model": "write `model` of the service, beside `server`",
    "version": "write `image`, and `runtime` where the catalog does not know it",
    "api_key": "write `front: {auth: api-key}` of the service; the key is a secret, never text of a file",
    "port": "leave it out: every server listens at 8080 in an interface of its own",
    "env": "write `environment`",
    "variables": "write `environment`",
    "cap_add": "write `capabilities`",
}
"""Below `server`."""


class ServerKind(StrEnum):
    """What program serves the model."""

    TGI = "tgi"
    """Text Generation Inference of Hugging Face, its Neuron back end. In maintenance: 3.3.7 is the last release."""
    HUGGING_FACE_VLLM = "hugging-face-vllm"
    """vLLM with the platform plugin of optimum-neuron, in Hugging Face's image."""
    AWS_VLLM = "aws-vllm"
    """vLLM with NxD Inference, in AWS's image."""
    AWS_VLLM_NEURON = "aws-vllm-neuron"
    """vLLM with AWS's vLLM Neuron plugin: trn2 and newer only."""


class ModelServer(Spec):
    """A model server: a `TgiServer`, `HuggingFaceVllmServer`, `AwsVllmServer` or `AwsVllmNeuronServer`.

    To change from one to another is one word, as sizes have one name for all: `tensor_parallel`, `batch_size` and
    `sequence_length` become each server's own. What is wrong with it is LF700 to LF709 and LF766.
    """

    other_words: ClassVar[Mapping[str, str]] = OF_SERVER

    if TYPE_CHECKING:
        kind: ServerKind = ServerKind.TGI
        """What serves the model: each class has its own word."""
    tensor_parallel: int | None = None
    """Over how many NeuronCores each layer is spread. Default: all of the instance."""
    batch_size: int = default_batch_size()
    """How many sequences are generated side by side; compiled into the model. Default: 4."""
    sequence_length: int = default_sequence_length()
    """Tokens of prompt and answer together, at most; compiled into the model. Default: 4096."""
    image: str | None = None
    """URI of another image. Default: the catalog's, whose driver and compiler llm-fleet knows."""
    runtime_version: Annotated[str | None, Field(alias="runtime")] = None
    """Version of `aws-neuronx-runtime-lib` in `image`, in quotes, by which the host's driver is chosen."""

    environment: Mapping[str, str] = {}
    """Further environment variables of the container, by name; no secrets. Default: none."""
    capabilities: tuple[str, ...] = ()
    """Linux capabilities that the container has beyond Docker's default ones, e.g. `IPC_LOCK`. Default: none."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What else is told, by the names of the fields of its own class."""
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in _OF_ALL}
        return {name: value for name, value in own.items() if value not in (None, (), {})}

    @property
    def facts(self) -> ModelServerFacts:
        """What the catalog knows of the program: its image, families, runtime, ports."""
        return model_servers()[self.kind]

    @classmethod
    def from_shorthand(cls, written: Any) -> Any:
        """Let the word of a kind stand for a server with its defaults; one that names no kind is TGI."""
        if isinstance(written, str):
            return {"kind": written}
        mapping = cast("dict[str, Any]", written)
        return {"kind": ServerKind.TGI.value, **mapping} if isinstance(written, dict) else written

    @classmethod
    def shorthand_schemas(cls) -> list[dict[str, Any]]:
        """Let the word of a kind stand for the mapping."""
        return [{"enum": [kind.value for kind in ServerKind]}]


_OF_ALL = frozenset({"kind", *ModelServer.model_fields})


class TgiServer(ModelServer):
    """Text Generation Inference of Hugging Face on Neuron. In maintenance: another `kind` is one line away."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[ServerKind.TGI], Field(examples=["tgi"])
    ] = ServerKind.TGI
    """What serves the model."""
    cast_type: Literal["bf16", "fp16"] | None = None
    """To what the weights are cast when they are compiled. Default: as the model is exported."""
    max_input_tokens: int | None = None
    """Tokens of a prompt, at most. Default: half of `sequence_length`, as TGI has it."""
    max_batch_prefill_tokens: int | None = None
    """Tokens of all prompts that are read together. Default: `batch_size` prompts of the longest kind."""
    max_concurrent_requests: int | None = None
    """Requests that a task takes at once, those that wait included; more are answered with 429."""
    max_waiting_tokens: int | None = None
    """Tokens that are generated before waiting requests are let in. Default: 20, as TGI has it."""
    waiting_served_ratio: float | None = None
    """From what ratio of waiting to running requests on those that wait are let in. Default: as TGI has it."""
    max_client_batch_size: int | None = None
    """Prompts in one request, at most. Default: 4, as TGI has it."""
    max_best_of: int | None = None
    """Answers that one request may choose the best of. Default: as TGI has it."""
    max_stop_sequences: int | None = None
    """Stop sequences in a request, at most. Default: as TGI has it."""
    max_top_n_tokens: int | None = None
    """Alternatives to each token that a request may ask for. Default: as TGI has it."""
    payload_limit_bytes: Annotated[BodyBytes | None, Field(alias="payload_limit")] = None
    """Size of a request, at most. Default: `2 MB`, as TGI has it."""
    validation_workers: int | None = None
    """Processes that turn prompts into tokens. Default: 2, as TGI has it."""
    graceful_termination_seconds: Annotated[Seconds | None, Field(alias="graceful_termination")] = None
    """How long it finishes what it has begun when it is asked to end. Default: `90 s`."""
    json_output: bool | None = None
    """Whether its log is JSON. Default: as the construct has it, for CloudWatch Logs Insights."""
    usage_stats: Literal["on", "off", "no-stack"] | None = None
    """Whether it tells Hugging Face about its use. Default: `off`."""
    cors_allow_origin: str | None = None
    """Origins whose pages may ask it, with commas between. Default: none."""
    otlp_endpoint: str | None = None
    """Where it sends traces, an OTLP endpoint over gRPC. Default: nowhere."""
    otlp_service_name: str | None = None
    """Its name in traces. Default: as TGI has it."""
    tokenizer_config_path: str | None = None
    """A tokenizer configuration in the container, in place of the model's. Default: the model's."""
    disable_grammar_support: bool | None = None
    """Whether requests may not ask for answers by a grammar. Default: they may."""
    trust_remote_code: bool | None = None
    """Whether Python code that lies beside the model is run. Default: no."""


class VllmServer(ModelServer):
    """vLLM in any of its images."""

    chat_template: str | None = None
    """A chat template in the container, in place of the model's. Default: the model's."""
    tool_call_parser: str | None = None
    """Which parser finds calls of tools in answers, e.g. `llama3_json`. Default: none."""
    enable_auto_tool_choice: bool | None = None
    """Whether the model may choose to call a tool. Default: no."""
    trust_remote_code: bool | None = None
    """Whether Python code that lies beside the model is run. Default: no."""
    extra_arguments: tuple[str, ...] = ()
    """Further arguments of the server, each a list item, as they are. Default: none."""


class HuggingFaceVllmServer(VllmServer):
    """vLLM with the platform plugin of optimum-neuron, for inf2 and trn1."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[ServerKind.HUGGING_FACE_VLLM], Field(examples=["hugging-face-vllm"])
    ] = ServerKind.HUGGING_FACE_VLLM
    """What serves the model."""
    task: Literal["generate", "embed"] | None = None
    """Whether it generates text, or embeds it. Default: `generate`."""
    allow_non_cached_model: bool | None = None
    """Whether a model of the Hub that is in no cache of Neuron's may be compiled when a task starts. Default: no."""


class NxdVllmServer(VllmServer):
    """vLLM in AWS's images."""

    additional_config: Mapping[str, Any] = {}
    """vLLM's `--additional-config`, where Neuron's own options are. Default: none."""


class AwsVllmServer(NxdVllmServer):
    """vLLM with NxD Inference, in AWS's image: inf2, trn1 and trn2."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[ServerKind.AWS_VLLM], Field(examples=["aws-vllm"])
    ] = ServerKind.AWS_VLLM
    """What serves the model."""
    compiled_artifacts: str | None = None
    """A folder in the container with the compiled model. Default: one in the host's cache, where it is compiled."""


class AwsVllmNeuronServer(NxdVllmServer):
    """vLLM with AWS's vLLM Neuron plugin: trn2 and newer only."""

    kind: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Literal[ServerKind.AWS_VLLM_NEURON], Field(examples=["aws-vllm-neuron"])
    ] = ServerKind.AWS_VLLM_NEURON
    """What serves the model."""
    compilation_timeout_seconds: Annotated[Seconds | None, Field(alias="compilation_timeout")] = None
    """How long compiling may take when a task starts. Default: the `load_time` of the service."""
    engine_ready_timeout_seconds: Annotated[Seconds | None, Field(alias="engine_ready_timeout")] = None
    """How long the server may take to be ready. Default: the `load_time` of the service."""
    execute_model_timeout_seconds: Annotated[Seconds | None, Field(alias="execute_model_timeout")] = None
    """How long one step of the model may take. Default: `20 min`, as a step may wait for a compilation."""


AnyServer = Annotated[
    TgiServer | HuggingFaceVllmServer | AwsVllmServer | AwsVllmNeuronServer, Field(discriminator="kind")
]
"""A model server, told by its `kind`."""
SERVERS: Mapping[ServerKind, type[ModelServer]] = {
    ServerKind.TGI: TgiServer,
    ServerKind.HUGGING_FACE_VLLM: HuggingFaceVllmServer,
    ServerKind.AWS_VLLM: AwsVllmServer,
    ServerKind.AWS_VLLM_NEURON: AwsVllmNeuronServer,
}
"""The class of each kind."""
