"""What the rules of a run ask of it: read-only attributes, all plain values.

`TrainingRun` and the fleet file's view of a job both have this shape, so that one rule serves both. `None` stands for
the default, which `plan` works out.
"""

from typing import Protocol

from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.inference.terms import ServerKind
from llm_fleet.rules.training.run.partition import TrainingPartition
from llm_fleet.rules.training.run.terms import ActivationCheckpointing, Backend, Precision
from llm_fleet.spec.smp import SmpConfiguration


class TrainedShapeLike(ShapeLike, Protocol):
    """How large a model is that is trained (`TrainedShape`)."""

    @property
    def hidden(self) -> int:
        """Numbers of a token between layers."""
        ...

    @property
    def intermediate(self) -> int:
        """Inner width of the feed-forward block."""
        ...

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        ...

    @property
    def max_sequence(self) -> int | None:
        """The longest sequence that it was made for; `None` where nobody told."""
        ...


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
    def shape(self) -> TrainedShapeLike | None:
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
