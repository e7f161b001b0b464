"""What the rules of a training run see of it, and of where it takes place: plain values.

What the rules of a run ask of it: read-only attributes, all plain values.

`TrainingRun` and the fleet file's view of a job both have this shape, so that one rule serves both. `None` stands for
the default, which `plan` works out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, cast

from llm_fleet.catalog.limit import Limit
from llm_fleet.rules.codes import Code
from llm_fleet.rules.names import check_hyphenated_name
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.model_shape import TrainedShape
from llm_fleet.spec.smp import SmpConfiguration


class Backend(StrEnum):
    """What spreads a run over its processes."""

    NEURON = "neuron"
    """torch-neuronx and neuronx-distributed: tensor parallel, the optimizer sharded over data parallel (ZeRO-1)."""
    NEMO_MEGATRON = "nemo-megatron"
    """neuronx-nemo-megatron, the launch post's, on the last Neuron release that carries it; pipeline parallel too."""
    FSDP = "fsdp"
    """PyTorch's FSDP2: weights, gradients and optimizer sharded."""
    SMP = "smp"
    """SageMaker's model parallel library v2: FSDP with tensor and context parallel."""
    CPU = "cpu"
    """PyTorch on processors, over gloo: for proof and for learning."""


class ActivationCheckpointing(StrEnum):
    """What of a layer is worked out again in the backward pass instead of being kept."""

    NONE = "none"
    """Nothing: the fastest, and the most memory."""
    SELECTIVE = "selective"
    """The attention scores."""
    FULL = "full"
    """All but each layer's input: the least memory, and about a third more work."""


class Precision(StrEnum):
    """What numbers a run computes with."""

    MIXED = "mixed"
    """bf16, with weights and moments of the optimizer kept in fp32."""
    FLOAT32 = "float32"
    """fp32 throughout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPartition:
    """A Slurm partition of a cluster, as far as a run depends on it. `TrainingRun` judges it; it raises nothing itself.

    A fleet file's job gets it from its cluster; with a cluster of your own, say what you have.
    """

    cluster: str
    """The cluster's name, as AWS knows it."""
    name: str
    """The partition's name."""
    instance_type: str
    """Of its nodes: EC2's or SageMaker's name, e.g. `trn1.32xlarge` or `ml.trn1.32xlarge`."""
    nodes: int
    """How many nodes it has, or can grow to."""
    processes: int | None = None
    """Processes of a run on each node, where the runtime says otherwise than one for each accelerator core."""
    training_folder: str | None = "/fsx/llm-fleet"
    """Where the training runtime lies on shared storage; `None` where the nodes have none."""
    environments: tuple[str, ...] | None = None
    """Names of the environments for its nodes, those for exports among them; `None` where nobody told."""
    exports_for: tuple[str, ...] | None = None
    """Servers that its environment for exports has the compiler of; `None` where nobody told, or knows."""
    shared_mounts: tuple[str, ...] = ("/fsx",)
    """Where file systems are mounted that all nodes share."""
    file_system_gib: int | None = None
    """Size of the file system under `training_folder`; `None` where nobody told."""
    hub_token_secret_arn: str | None = None
    """ARN of the secret with the Hugging Face Hub's token, which the runtime tells its jobs."""
    reads: tuple[str, ...] | None = None
    """Names of buckets that its nodes may read; `None` where nobody told."""
    writes: tuple[str, ...] | None = None
    """Names of buckets that its nodes may read and write; `None` where nobody told."""


class DataLike(Protocol):
    """What a run learns from (`TrainingData`)."""

    @property
    def place(self) -> str:
        """An id of a data set on the Hub, `s3://…`, or a folder on shared storage."""
        ...

    @property
    def text_field(self) -> str:
        """Which field of a document is the text."""
        ...


class CheckpointLike(Protocol):
    """When a run saves itself (`Checkpoint`)."""

    @property
    def every(self) -> int:
        """Steps from one to the next."""
        ...

    @property
    def keep(self) -> int:
        """How many are kept."""
        ...

    @property
    def mirror(self) -> str | None:
        """Where in S3 they are copied to; `None` for nowhere."""
        ...


class ExportLike(Protocol):
    """What becomes of the trained model (`ServedExport`)."""

    @property
    def to(self) -> str:
        """Where in S3 the server reads it."""
        ...

    @property
    def server(self) -> ServerKind:
        """Which server."""
        ...

    @property
    def instance_type(self) -> str:
        """On what it serves, by EC2's name."""
        ...

    @property
    def tensor_parallel(self) -> int | None:
        """Over how many NeuronCores; `None` is all of the instance."""
        ...

    @property
    def batch_size(self) -> int:
        """How many sequences are generated side by side."""
        ...

    @property
    def sequence_length(self) -> int:
        """Tokens of prompt and answer together, at most."""
        ...

    @property
    def environment(self) -> str | None:
        """The environment that it is compiled in; `None` for what the nodes have for exports."""
        ...


class RunLike(Protocol):
    """A run (`TrainingRun`)."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def partition(self) -> TrainingPartition:
        """Where it takes place."""
        ...

    @property
    def nodes(self) -> int | None:
        """On how many nodes."""
        ...

    @property
    def backend(self) -> Backend | None:
        """What spreads it."""
        ...

    @property
    def model(self) -> str:
        """An id of the Hub, `s3://…`, or a folder on shared storage."""
        ...

    @property
    def shape(self) -> TrainedShape | None:
        """How large the model is; `None` when nobody told and its name tells nothing."""
        ...

    @property
    def revision(self) -> str | None:
        """Branch, tag or commit on the Hub."""
        ...

    @property
    def folder(self) -> str | None:
        """Where on shared storage everything of it lies."""
        ...

    @property
    def sequence_length(self) -> int | None:
        """Tokens of a sequence."""
        ...

    @property
    def global_batch(self) -> int | None:
        """Sequences of a step."""
        ...

    @property
    def micro_batch(self) -> int:
        """Sequences that a process works on at once."""
        ...

    @property
    def tensor_parallel(self) -> int | None:
        """Over how many processes a layer is spread."""
        ...

    @property
    def pipeline_parallel(self) -> int | None:
        """Over how many groups of processes the layers are shared out."""
        ...

    @property
    def context_parallel(self) -> int | None:
        """Over how many processes a sequence is shared out."""
        ...

    @property
    def shard_degree(self) -> int | None:
        """Over how many processes FSDP shards; `None` is all."""
        ...

    @property
    def activation_checkpointing(self) -> ActivationCheckpointing | None:
        """What is worked out again."""
        ...

    @property
    def precision(self) -> Precision | None:
        """What it computes with."""
        ...

    @property
    def from_weights(self) -> bool:
        """Whether it begins with the model's weights."""
        ...

    @property
    def steps(self) -> int:
        """How many steps."""
        ...

    @property
    def learning_rate(self) -> float:
        """At its highest."""
        ...

    @property
    def warmup_steps(self) -> int | None:
        """Steps until then."""
        ...

    @property
    def weight_decay(self) -> float:
        """Of AdamW."""
        ...

    @property
    def seed(self) -> int | None:
        """What chance begins with."""
        ...

    @property
    def data(self) -> DataLike:
        """What it learns from."""
        ...

    @property
    def checkpoint(self) -> CheckpointLike:
        """When it saves itself."""
        ...

    @property
    def max_restarts(self) -> int:
        """How often it is put into the queue again."""
        ...

    @property
    def export(self) -> ExportLike | None:
        """What becomes of it."""
        ...

    @property
    def smp(self) -> SmpConfiguration | None:
        """The configuration of SMP v2; `None` for the library's defaults."""
        ...


class _Changed:
    def __init__(self, run: RunLike, changes: Mapping[str, Any]) -> None:
        self._run, self._changes = run, changes

    def __getattr__(self, name: str) -> Any:
        return self._changes[name] if name in self._changes else getattr(self._run, name)


def changed(run: RunLike, changes: Mapping[str, Any]) -> RunLike:
    """Return `run` with `changes`, values by attribute name, in place of its own."""
    return cast(RunLike, _Changed(run, changes))


_NAME = Limit(minimum=1, maximum=63, pattern="[a-zA-Z0-9](-*[a-zA-Z0-9])*")
_POSITIVE = (
    *("nodes", "sequence_length", "global_batch", "micro_batch", "tensor_parallel", "pipeline_parallel"),
    *("context_parallel", "shard_degree", "steps"),
)
_FROM_ZERO = ("warmup_steps", "seed", "max_restarts")


def check_run_name(name: str) -> list[Problem]:
    """Return what is wrong with a name that folders and Slurm's jobs bear."""
    return check_hyphenated_name(name, _NAME, Code.JOB_NAME, "name", what="job name")


def check_numbers(run: RunLike) -> Iterator[Problem]:
    """Return what is wrong with the numbers of `run`, each by itself."""
    for names, least in ((_POSITIVE, 1), (_FROM_ZERO, 0)):
        for name in names:
            yield from _check(getattr(run, name), least, name)
    for name in ("every", "keep"):
        yield from _check(getattr(run.checkpoint, name), 1, "checkpoint", name)
    warmup = run.warmup_steps
    if warmup is not None and _known(run.steps, warmup) and 0 < run.steps < warmup:
        yield _wrong("the learning rate would still rise at the end", f"write {run.steps} or less", "warmup_steps", run)
    if _known(run.learning_rate) and not 0 < run.learning_rate < 1:
        yield _wrong("no learning rate is outside of 0 and 1", "write e.g. 0.0003", "learning_rate", run)
    if _known(run.weight_decay) and not 0 <= run.weight_decay < 1:
        yield _wrong("no weight decay is negative, or 1 and above", "write e.g. 0.1", "weight_decay", run)


def _known(*values: object) -> bool:
    """Return whether all are numbers: of a wrong type, a value is told already, and stands here for one passed over."""
    return not any(map(is_unresolved, values))


def _check(value: int | None, least: int, *path: str) -> list[Problem]:
    return check_number(value, Limit(minimum=least), Code.JOB_NUMBER, *path, what=path[-1].replace("_", " "))


def _wrong(message: str, remedy: str, name: str, run: RunLike) -> Problem:
    return Problem(code=Code.JOB_NUMBER, message=message, remedy=remedy, path=(name,), value=getattr(run, name))
