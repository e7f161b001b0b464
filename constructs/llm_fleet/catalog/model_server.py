"""Model servers and their images; shapes of models, the memory that training one needs, those that examples train."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal

from llm_fleet.catalog.data_file import KEY, load, reader


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """One model."""

    names: tuple[str, ...]
    """What it is called, in lower case, without endings."""
    repository: str
    """Where it is on the Hugging Face Hub."""
    config: Mapping[str, Any]
    """The numbers of its `config.json`, by their names there."""
    parameters: int | None = None
    """How many weights the Hub tells; `None` where we have not seen it."""
    unverified: bool = False
    """Whether the numbers are as generally known, and not read in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMemory:
    """What a model takes beside its weights and its cache. Estimates; the data file says of what."""

    usable_share: float
    """Which part of a NeuronCore's memory weights and cache may fill."""
    server_gib: float
    """Host memory of the server itself."""
    export_gib: float
    """Host memory of the compiler."""
    export_copies: int
    """How often the weights are in host memory while they are exported."""
    cache_margin: float
    """How much larger than the weights the cache on the host is."""


model_memory = reader(ModelMemory, "model_memory")


def known_model(name: str) -> KnownModel | None:
    """Return the model that `name` names, whatever its case, e.g. `Llama-2-7b-hf` or `tanuki-8b`; else `None`."""
    bare = bare_name(name)
    return None if bare is None else _by_name()[bare]


def bare_name(name: str) -> str | None:
    """Return which of the known names `name` is, whatever its case and without `-hf` and its like; else `None`."""
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
    """Return the longest sequence that the model called `name` was made for; `None` where we do not know."""
    return load("training_models")["max_sequence"].get(bare_name(name))


trained_model_types = reader(tuple[str, ...], "training_models", "model_types")
"""The `model_type`s that the training program has."""


def is_gated(repository: str) -> bool:
    """Return whether a repository of the Hub, `owner/name`, is known to need a token. What is unknown passes."""
    folded = repository.casefold()
    return any(folded.startswith(prefix) for prefix in load("training_models")["gated"])


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBytes:
    """Bytes a parameter."""

    weights: int
    """What the forward pass computes with."""
    gradients: int
    optimizer: int
    """Adam's moments, and fp32 weights where `weights` are 16-bit."""

    @property
    def total(self) -> int:
        """All three."""
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
    """Bytes for each number of a layer's input, which full recomputation keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingMemory:
    """All of it; the data file has the sources, and says which are our own estimates."""

    state: Mapping[str, StateBytes]
    """By precision."""
    activation: ActivationBytes
    logits_bytes: int
    """Bytes for each number of the last layer's output."""
    gathered_layers: int
    """How many layers FSDP holds whole at once."""
    usable_share: Mapping[str, float]
    """Which part of a process's memory a run may fill, by kind of accelerator."""


training_memory = reader(TrainingMemory, "training_memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServerFacts:
    """One program in one image."""

    name: Annotated[str, KEY]
    """As the fleet file writes it, e.g. `tgi`."""
    title: str
    """Program and version, for messages."""
    maintenance: str | None
    """Why nothing new comes to it; `None` where it is alive."""
    repository: str
    """Where the image is; `{account}`, `{region}` and `{suffix}` stand for those of the user's region."""
    tag: str
    accounts: str | None
    """Which table of accounts by region the repository is in; `None` for one that is the same everywhere."""
    families: tuple[str, ...]
    """Instance families that it runs on, e.g. `inf2`."""
    runtime: str
    """Version of `aws-neuronx-runtime-lib` in the image."""
    compiler: str
    """Version of `neuronx-cc` in the image: a model compiled by another is refused."""
    port: int
    """The port that we have it listen at."""
    health_path: str
    metrics_path: str
    image_gib: int
    """What the unpacked image takes on the root volume, about."""


model_servers = reader(Mapping[str, ModelServerFacts], "model_servers")


def image_account(table: str, region: str) -> str | None:
    """Return the account whose registry has the image in `region`; `None` where it is not offered."""
    account: str | None = load("image_accounts")[table].get(region)
    return account


def image_regions(table: str) -> tuple[str, ...]:
    """Return the regions that have images of `table`."""
    return tuple(load("image_accounts")[table])


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSetting:
    """One setting of a model server."""

    name: Annotated[str, KEY]
    """As we write it, e.g. `max_input_tokens`."""
    type: Literal["integer", "number", "boolean", "text", "choice", "list", "json"]
    variable: str | None = None
    """The environment variable that carries it; `None` where an argument does."""
    argument: str | None = None
    """The argument that carries it; empty for words that are appended as they are."""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


_settings = reader(Mapping[str, Mapping[str, ServerSetting]], "server_settings", "settings")


def server_settings(server: str) -> Mapping[str, ServerSetting]:
    """Return the settings of `server` (`tgi`, …) by name, without those that all servers have (batch size …)."""
    return _settings()[server]


own_arguments = reader(frozenset[str], "server_settings", "own_arguments")
"""The arguments that a service gives its server by itself, with hyphens: nobody else gives them."""


def own_variables(server: str) -> frozenset[str]:
    """Return the environment variables that a service sets for `server` by itself: nobody else sets them."""
    facts = load("server_settings")["own_variables"]
    of_settings = {setting.variable for setting in server_settings(server).values() if setting.variable}
    return frozenset(facts["all"]) | frozenset(facts[server]) | of_settings


default_batch_size = reader(int, "server_settings", "batch_size")
"""How many sequences are generated side by side where no one says it: a model of 8B on an inf2.xlarge has room for them
in a sequence of the default length."""
default_sequence_length = reader(int, "server_settings", "sequence_length")
"""How many tokens prompt and answer have together, at most, where no one says it."""
requests_per_slot = reader(int, "server_settings", "requests_per_slot")
"""How many requests a server takes at once for each place in its batch, those that wait included."""
keep_alive_margin_seconds = reader(int, "server_settings", "keep_alive_margin_seconds")
"""How much longer than the load balancer a server keeps a connection on which nothing happens."""
execute_model_seconds = reader(int, "server_settings", "execute_model_seconds")
"""How long vLLM's plugin for trn2 may take for one execution, a graph that is still compiled included."""
_termination_seconds = reader(Mapping[str, int], "server_settings", "termination_seconds")


def termination_seconds(server: str) -> int:
    """Return how long `server` is given to finish what it has begun when it is asked to end."""
    return _termination_seconds()[server]


_FAMILY = {"tgi": "tgi", "hugging-face-vllm": "vllm", "aws-vllm": "vllm", "aws-vllm-neuron": "vllm"}
"""Whose metrics a server has, by its name in the catalog of model servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetric:
    """One Prometheus metric of a server."""

    name: str
    """As the server writes it; of a histogram without `_bucket`, `_sum` and `_count`."""
    type: str
    """`gauge`, `counter` or `histogram`."""
    unit: str
    """As CloudWatch says it: `Count` or `Seconds`."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels that single out the series that is meant; empty where there is one series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetrics:
    """Which metrics answer which question. Averages of several are added up; none: the server does not tell."""

    waiting: tuple[ServerMetric, ...]
    """How many requests wait now."""
    running: tuple[ServerMetric, ...]
    """How many sequences are generated now."""
    time_to_first_token: tuple[ServerMetric, ...]
    """How long until a request's first token."""
    time_per_token: tuple[ServerMetric, ...]
    """How long each further token takes."""
    answer_time: tuple[ServerMetric, ...]
    """How long a whole answer takes."""
    answer_tokens: tuple[ServerMetric, ...]
    """How many tokens an answer has."""
    rejected: tuple[ServerMetric, ...]
    """Requests turned away because too many were there."""
    failed: tuple[ServerMetric, ...]
    """Answers that failed in the server without a 5xx: it answers something else, or its stream had begun."""

    @property
    def all(self) -> tuple[ServerMetric, ...]:
        """Every metric, once."""
        found = [metric for each in fields(self) for metric in getattr(self, each.name)]
        return tuple({metric.name: metric for metric in found}.values())


_metrics = reader(Mapping[str, ServerMetrics], "server_metrics")


def server_metrics(server: str) -> ServerMetrics:
    """Return what the server called `server` in the catalog tells, e.g. `tgi`."""
    return _metrics()[_FAMILY[server]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFacts:
    """How the image of one server exports, by optimum-neuron's command line."""

    cores: str
    """Argument for over how many cores the model is spread."""
    cast: str | None
    """Argument for the type that weights are cast to; `None` where the checkpoint's own is kept."""
    instance_type: str | None
    """Argument for the family that it is compiled for; `None` where only the host's own can be."""
    cpu: bool
    """Whether it can on a host without Neuron devices."""


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
"""The servers whose images can export, by their names."""
fargate_facts = reader(FargateFacts, "model_exports", "fargate")
export_disk_copies = reader(int, "model_exports", "disk_copies")
"""How often the weights are on the disk while they are exported."""
tools_image = reader(str, "model_exports", "tools_image")
"""The image of AWS's command line, which moves models between S3 and the disk."""
