"""Text Generation Inference in the fleet file."""

from typing import Literal

from pydantic import Field

from llm_fleet.config.services.server import ServerConfig
from llm_fleet.config.services.values import BodyBytes
from llm_fleet.rules.inference.terms import ServerKind
from llm_fleet.spec.values import Seconds


class TgiServerConfig(ServerConfig):
    """Text Generation Inference of Hugging Face on Neuron. In maintenance: another `kind` is one line away."""

    kind: Literal[ServerKind.TGI] = Field(examples=["tgi"])
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
    payload_limit_bytes: BodyBytes | None = Field(default=None, alias="payload_limit")
    """Size of a request, at most. Default: `2 MB`, as TGI has it."""
    validation_workers: int | None = None
    """Processes that turn prompts into tokens. Default: 2, as TGI has it."""
    graceful_termination_seconds: Seconds | None = Field(default=None, alias="graceful_termination")
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
