"""Model servers and their images; model configurations, memory needs of training, models of the examples."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal

from llm_fleet.catalog.data_file import KEY, load, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model of the Hugging Face Hub with known configuration."""

    names: tuple[str, ...]
    """Its names in lower case, without suffixes such as `-hf`."""
    repository: str
    """`owner/name` on the Hugging Face Hub."""
    config: Mapping[str, Any]
    """Numbers of its `config.json` by key."""
    parameters: int | None = None
    """Parameter count on the Hub; `None` where unknown."""
    unverified: bool = False
    """Whether the numbers are from general knowledge instead of the model's file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMemory:
    """Memory of a model in addition to weights and cache. Estimates; the data file has their sources."""

    usable_share: float
    """Share of a NeuronCore's memory that weights and cache can use."""
    server_gib: float
    """GiB of host memory of the server."""
    export_gib: float
    """GiB of host memory of the compiler."""
    export_copies: int
    """Copies of the weights in host memory during an export."""
    cache_margin: float
    """Size of the cache on the host as a multiple of the weights."""


model_memory = reader(ModelMemory, "model_memory")


def known_model(name: str) -> KnownModel | None:
    """Return the model called `name` in any case, e.g. `Llama-2-7b-hf` or `tanuki-8b`; otherwise `None`."""
    bare = bare_name(name)
    return None if bare is None else _by_name()[bare]


def bare_name(name: str) -> str | None:
    """Return the known name that matches `name`, ignoring case and suffixes such as `-hf`; otherwise `None`."""
    known = _by_name()
    folded = name.casefold()
    while folded not in known:
        ending = next((ending for ending in _endings() if folded.endswith(ending)), None)
        if ending is None:
            return None
        folded = folded.removesuffix(ending)
    return folded


_endings = reader(tuple[str, ...], "model_shapes", "endings")
_models = reader(tuple[KnownModel, ...], "model_shapes", "models")


@cache
def _by_name() -> Mapping[str, KnownModel]:
    return {name: model for model in _models() for name in model.names}


def max_sequence(name: str) -> int | None:
    """Return the maximum sequence length of the model `name`; `None` where unknown."""
    return load("training_models")["max_sequence"].get(bare_name(name))


trained_model_types = reader(tuple[str, ...], "training_models", "model_types")
"""The values of `model_type` that the training program supports."""


def is_gated(repository: str) -> bool:
    """Return whether the Hub repository `owner/name` is known to require a token; `False` for an unknown one."""
    folded = repository.casefold()
    return any(folded.startswith(prefix) for prefix in load("training_models")["gated"])


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBytes:
    """Bytes for each parameter."""

    weights: int
    """Weights that the forward pass uses."""
    gradients: int
    optimizer: int
    """Adam's moments, and fp32 weights where `weights` are 16-bit."""

    @property
    def total(self) -> int:
        """Sum of all three."""
        return self.weights + self.gradients + self.optimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationBytes:
    """The coefficients of Korthikanti et al. 2022, for 16-bit activations."""

    layer: int
    """Bytes for each number of a layer's input, without the feed-forward block's inner tensors."""
    inner: int
    """Bytes for each number of a plain feed-forward block's inner width."""
    inner_gated: int
    """The same of a gated block."""
    scores: int
    """Bytes for each attention score."""
    input: int
    """Bytes for each number of a layer's input, all that full recomputation keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingMemory:
    """Memory needs of training; the data file has the sources and marks our own estimates."""

    state: Mapping[str, StateBytes]
    """Bytes for each parameter by precision."""
    activation: ActivationBytes
    logits_bytes: int
    """Bytes for each number of the last layer's output."""
    gathered_layers: int
    """Number of layers that FSDP keeps unsharded at the same time."""
    usable_share: Mapping[str, float]
    """Share of a process's accelerator memory that a run can use, by accelerator."""


training_memory = reader(TrainingMemory, "training_memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServerFacts:
    """One server program in one image."""

    name: Annotated[str, KEY]
    """Its name in the fleet file, e.g. `tgi`."""
    title: str
    """Program and version, for messages."""
    maintenance: str | None
    """Why it gets no new features; `None` where it is actively developed."""
    repository: str
    """Image URI; `{account}`, `{region}` and `{suffix}` are replaced with those of the user's region."""
    tag: str
    accounts: str | None
    """Key of its table of accounts by region; `None` for a registry without regions."""
    families: tuple[str, ...]
    """Instance families that it supports, e.g. `inf2`."""
    runtime: str
    """Version of `aws-neuronx-runtime-lib` in the image."""
    compiler: str
    """Version of `neuronx-cc` in the image: it rejects a model compiled with another version."""
    port: int
    """The port that it is configured to listen on."""
    health_path: str
    metrics_path: str
    image_gib: int
    """Approximate GiB of the unpacked image on the root volume."""


model_servers = reader(Mapping[str, ModelServerFacts], "model_servers")


def image_account(table: str, region: str) -> str | None:
    """Return the account whose registry has the image in `region`; `None` where AWS does not offer it."""
    account: str | None = load("image_accounts")[table].get(region)
    return account


def image_regions(table: str) -> tuple[str, ...]:
    """Return the regions that have images of `table`."""
    return tuple(load("image_accounts")[table])


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSetting:
    """One setting of a model server."""

    name: Annotated[str, KEY]
    """Its key in the catalog, e.g. `max_input_tokens`."""
    type: Literal["integer", "number", "boolean", "text", "choice", "list", "json"]
    variable: str | None = None
    """Its environment variable; `None` where it is a command-line argument."""
    argument: str | None = None
    """Its command-line argument; empty for values that are appended unchanged."""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


_settings = reader(Mapping[str, Mapping[str, ServerSetting]], "server_settings", "settings")


def server_settings(server: str) -> Mapping[str, ServerSetting]:
    """Return the settings of `server` (`tgi`, …) by name, without settings that all servers share (batch size …)."""
    return _settings()[server]


own_arguments = reader(frozenset[str], "server_settings", "own_arguments")
"""Arguments, with hyphens, that llm-fleet sets for every server; users cannot set them."""


def own_variables(server: str) -> frozenset[str]:
    """Return the environment variables that llm-fleet sets for `server`; users cannot set them."""
    facts = load("server_settings")["own_variables"]
    of_settings = {setting.variable for setting in server_settings(server).values() if setting.variable}
    return frozenset(facts["all"]) | frozenset(facts[server]) | of_settings


default_batch_size = reader(int, "server_settings", "batch_size")
"""Default number of sequences that are generated concurrently: an 8B model on an inf2.xlarge has memory for them
at the default sequence length."""
default_sequence_length = reader(int, "server_settings", "sequence_length")
"""Default maximum tokens of prompt and answer together."""
requests_per_slot = reader(int, "server_settings", "requests_per_slot")
"""Concurrent requests that a server accepts for each slot of its batch, including waiting ones."""
keep_alive_margin_seconds = reader(int, "server_settings", "keep_alive_margin_seconds")
"""Seconds that a server keeps an idle connection longer than the load balancer does."""
execute_model_seconds = reader(int, "server_settings", "execute_model_seconds")
"""Timeout of one execution in vLLM's plugin for trn2, including the compilation of a graph."""
_termination_seconds = reader(Mapping[str, int], "server_settings", "termination_seconds")


def termination_seconds(server: str) -> int:
    """Return the seconds that `server` gets to finish running requests when it is stopped."""
    return _termination_seconds()[server]


_FAMILY = {"tgi": "tgi", "hugging-face-vllm": "vllm", "aws-vllm": "vllm", "aws-vllm-neuron": "vllm"}
"""The family of metrics by name of the server in the catalog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetric:
    """One Prometheus metric of a model server."""

    name: str
    """The server's name of it; for a histogram without `_bucket`, `_sum` and `_count`."""
    type: str
    """`gauge`, `counter` or `histogram`."""
    unit: str
    """CloudWatch unit: `Count` or `Seconds`."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels that select one series; empty where the metric has only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetrics:
    """Metrics by meaning. Averages of several metrics are added; empty: the server does not report it."""

    waiting: tuple[ServerMetric, ...]
    """Number of requests that wait now."""
    running: tuple[ServerMetric, ...]
    """Number of sequences that are generated now."""
    time_to_first_token: tuple[ServerMetric, ...]
    """Time to first token of a request."""
    time_per_token: tuple[ServerMetric, ...]
    """Time per output token after the first."""
    answer_time: tuple[ServerMetric, ...]
    """End-to-end latency of a request."""
    answer_tokens: tuple[ServerMetric, ...]
    """Output tokens of a request."""
    rejected: tuple[ServerMetric, ...]
    """Requests rejected because of overload."""
    failed: tuple[ServerMetric, ...]
    """Failed requests without a 5xx: the server returned another status, or streaming had begun."""

    @property
    def all(self) -> tuple[ServerMetric, ...]:
        """All metrics without duplicates."""
        found = [metric for each in fields(self) for metric in getattr(self, each.name)]
        return tuple({metric.name: metric for metric in found}.values())


_metrics = reader(Mapping[str, ServerMetrics], "server_metrics")


def server_metrics(server: str) -> ServerMetrics:
    """Return the metrics of the server named `server` in the catalog, e.g. `tgi`."""
    return _metrics()[_FAMILY[server]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFacts:
    """Arguments of optimum-neuron's export command in the image of one server."""

    cores: str
    """Argument for the tensor parallel degree."""
    cast: str | None
    """Argument for the data type of the weights; `None` where the checkpoint's own type is kept."""
    instance_type: str | None
    """Argument for the target instance family; `None` where it can be only the host's own."""
    cpu: bool
    """Whether it can export on a host without Neuron devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FargateFacts:
    """The largest tasks of Fargate."""

    cpu: int
    """CPU units."""
    memory_min_gib: int
    memory_max_gib: int
    memory_step_gib: int
    storage_max_gib: int


model_exports = reader(Mapping[str, ExportFacts], "model_exports", "servers")
"""Servers whose images can export, by name."""
fargate_facts = reader(FargateFacts, "model_exports", "fargate")
export_disk_copies = reader(int, "model_exports", "disk_copies")
"""Copies of the weights on disk during an export."""
tools_image = reader(str, "model_exports", "tools_image")
"""The image of the AWS CLI, which copies models between S3 and the disk."""
