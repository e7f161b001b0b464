"""The program that serves a model, and what it is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from llm_fleet.catalog.model_server import ModelServerFacts, model_servers
from llm_fleet.rules.inference.forms import member_of
from llm_fleet.rules.inference.server import check_server
from llm_fleet.rules.inference.terms import ServerKind
from llm_fleet.rules.problem import raise_problems

_BATCH_SIZE = 4
_SEQUENCE_LENGTH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """A model server: made by `tgi`, `hugging_face_vllm`, `aws_vllm` or `aws_vllm_neuron`.

    To change from one to another is one word, as sizes have one name for all: `tensor_parallel`, `batch_size` and
    `sequence_length` become each server's own. Raises `FleetError` (LF700, LF701, LF703, LF704, LF707 to
    LF709, LF766) for what no server takes; on which instances it runs is checked by the service.
    """

    kind: ServerKind
    """Which program."""
    image: str | None = None
    """URI of another image. Default: the catalog's for the kind, in the service's region."""
    runtime_version: str | None = None
    """`aws-neuronx-runtime-lib` in `image`, which decides what driver hosts need; with `image`, and only then."""
    tensor_parallel: int | None = None
    """Over how many NeuronCores each layer is spread. Default: all of the instance, so that none is idle."""
    batch_size: int = _BATCH_SIZE
    """Sequences generated side by side; compiled into the model. Default: 4, which a model of 8B on an inf2.xlarge has
    room for in a sequence of 4096."""
    sequence_length: int = _SEQUENCE_LENGTH
    """Tokens of prompt and answer together; compiled into the model. Default: 4096."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Further environment variables of the container. Default: none. Those that the service sets by itself are refused
    (LF708), and so is what looks like a secret (LF709): everyone who may describe a task definition can read it."""
    capabilities: Sequence[str] = ()
    """Linux capabilities of the container beyond Docker's default ones, in ECS's words, e.g. `("IPC_LOCK",)` (LF766).
    Default: none; see `docs/constructs/inference-service.md` for when the Neuron runtime may need one."""
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """What else it was told, by the arguments of the method that made it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", member_of(ServerKind, self.kind))
        raise_problems(check_server(self), subject=f"ModelServer.{str(self.kind).replace('-', '_')}")

    @property
    def facts(self) -> ModelServerFacts:
        """What the catalog knows of the program: its image, families, runtime, ports."""
        return model_servers()[self.kind]

    @classmethod
    def tgi(
        cls,
        *,
        tensor_parallel: int | None = None,
        batch_size: int = _BATCH_SIZE,
        sequence_length: int = _SEQUENCE_LENGTH,
        image: str | None = None,
        runtime_version: str | None = None,
        environment: Mapping[str, str] | None = None,
        capabilities: Sequence[str] = (),
        cast_type: str | None = None,
        max_input_tokens: int | None = None,
        max_batch_prefill_tokens: int | None = None,
        max_concurrent_requests: int | None = None,
        max_waiting_tokens: int | None = None,
        waiting_served_ratio: float | None = None,
        max_client_batch_size: int | None = None,
        max_best_of: int | None = None,
        max_stop_sequences: int | None = None,
        max_top_n_tokens: int | None = None,
        payload_limit_bytes: int | None = None,
        validation_workers: int | None = None,
        graceful_termination_seconds: int | None = None,
        json_output: bool | None = None,
        usage_stats: str | None = None,
        cors_allow_origin: str | None = None,
        otlp_endpoint: str | None = None,
        otlp_service_name: str | None = None,
        tokenizer_config_path: str | None = None,
        disable_grammar_support: bool | None = None,
        trust_remote_code: bool | None = None,
    ) -> "ModelServer":
        """Return Text Generation Inference with its Neuron back end; in maintenance mode since December 2025.

        The names are those of the launcher's arguments. `cast_type`: `bf16` or `fp16`. Default: `bf16`, what models are
        published in. `max_input_tokens`: default half the sequence, as TGI has it. `max_batch_prefill_tokens`: default
        a whole batch of the longest prompts. `max_concurrent_requests`: above it clients get 429. Default: 8 for each
        place in the batch, so that nobody waits for more than seven answers before his own; TGI's own 128 would keep
        clients of a small batch waiting beyond any timeout. `graceful_termination_seconds`: default 90.
        `json_output`: default true, for CloudWatch. `usage_stats`: default `off`; TGI's own default reports to its
        makers. `trust_remote_code`: default false. The others: default TGI's own.
        """
        given = _given(locals())
        return cls(kind=ServerKind.TGI, **given)

    @classmethod
    def hugging_face_vllm(
        cls,
        *,
        tensor_parallel: int | None = None,
        batch_size: int = _BATCH_SIZE,
        sequence_length: int = _SEQUENCE_LENGTH,
        image: str | None = None,
        runtime_version: str | None = None,
        environment: Mapping[str, str] | None = None,
        capabilities: Sequence[str] = (),
        task: str | None = None,
        allow_non_cached_model: bool | None = None,
        chat_template: str | None = None,
        tool_call_parser: str | None = None,
        enable_auto_tool_choice: bool | None = None,
        trust_remote_code: bool | None = None,
        extra_arguments: Sequence[str] | None = None,
    ) -> "ModelServer":
        """Return vLLM with the plugin of optimum-neuron, in Hugging Face's image; for inf2 and trn1.

        `task`: `generate` or `embed`. Default: `generate`. `allow_non_cached_model`: whether a model of the Hub is
        compiled when the task starts, which takes up to an hour. Default: false; the server ends with a message.
        `chat_template`: path in the container. `extra_arguments`: further words for the vLLM server. Default: none.
        """
        given = _given(locals())
        return cls(kind=ServerKind.HUGGING_FACE_VLLM, **given)

    @classmethod
    def aws_vllm(
        cls,
        *,
        tensor_parallel: int | None = None,
        batch_size: int = _BATCH_SIZE,
        sequence_length: int = _SEQUENCE_LENGTH,
        image: str | None = None,
        runtime_version: str | None = None,
        environment: Mapping[str, str] | None = None,
        capabilities: Sequence[str] = (),
        compiled_artifacts: str | None = None,
        additional_config: Mapping[str, Any] | None = None,
        chat_template: str | None = None,
        tool_call_parser: str | None = None,
        enable_auto_tool_choice: bool | None = None,
        trust_remote_code: bool | None = None,
        extra_arguments: Sequence[str] | None = None,
    ) -> "ModelServer":
        """Return vLLM with NxD Inference, in AWS's image; for inf2, trn1 and trn2, with critical fixes only.

        `compiled_artifacts`: path of what was compiled before; what cannot be loaded from there is compiled and stored
        there. Default: a folder in the cache on the host, one for each model, image and set of sizes; the model itself
        is mounted read-only. `additional_config`: Neuron options (`override_neuron_config` and the like). Default:
        none. `extra_arguments`: further words of `vllm serve`. Without a word on prefix caching it is switched off, and
        `--num-gpu-blocks-override` is the batch size.
        """
        given = _given(locals())
        return cls(kind=ServerKind.AWS_VLLM, **given)

    @classmethod
    def aws_vllm_neuron(
        cls,
        *,
        tensor_parallel: int | None = None,
        batch_size: int = _BATCH_SIZE,
        sequence_length: int = _SEQUENCE_LENGTH,
        image: str | None = None,
        runtime_version: str | None = None,
        environment: Mapping[str, str] | None = None,
        capabilities: Sequence[str] = (),
        compilation_timeout_seconds: int | None = None,
        engine_ready_timeout_seconds: int | None = None,
        execute_model_timeout_seconds: int | None = None,
        additional_config: Mapping[str, Any] | None = None,
        chat_template: str | None = None,
        tool_call_parser: str | None = None,
        enable_auto_tool_choice: bool | None = None,
        trust_remote_code: bool | None = None,
        extra_arguments: Sequence[str] | None = None,
    ) -> "ModelServer":
        """Return vLLM with AWS's vLLM Neuron plugin, in AWS's image; for trn2 only.

        `compilation_timeout_seconds`, `engine_ready_timeout_seconds`: how long a graph and the whole start may take;
        default the service's grace period. `execute_model_timeout_seconds`: default 1200.
        """
        given = _given(locals())
        return cls(kind=ServerKind.AWS_VLLM_NEURON, **given)


_COMMON = (
    *("tensor_parallel", "batch_size", "sequence_length"),
    *("image", "runtime_version", "environment", "capabilities"),
)


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return `arguments` of a maker as those of the class: the common ones, and what was given of the others."""
    settings = {name: value for name, value in arguments.items() if name not in ("cls", *_COMMON) and value is not None}
    common = {name: arguments[name] for name in _COMMON}
    if common["environment"] is None:
        del common["environment"]
    return {**common, "settings": MappingProxyType(settings)}
