"""A training run: its model, data, checkpoints and export."""

from dataclasses import dataclass, field

from llm_fleet.catalog.model_server import default_batch_size, default_sequence_length
from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.training.check_run import check_run
from llm_fleet.rules.training.run import ActivationCheckpointing, Backend, Precision, TrainingPartition
from llm_fleet.rules.training.run_plan import MemoryEstimate, RunPlan, estimate, planned
from llm_fleet.rules.training.run_sources import known_trained_shape
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.model_shape import TrainedShape
from llm_fleet.spec.smp import SmpConfiguration


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """When a run saves itself, and where else. `TrainingRun` judges it."""

    every: int = 100
    """Steps from one checkpoint to the next: what a lost node costs at most. Default: 100."""
    keep: int = 2
    """How many complete ones are kept. Default: 2."""
    mirror: str | None = None
    """Where in S3 they are copied to, `s3://bucket/prefix`. Default: nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedExport:
    """The trained model as an inference service reads it: compiled for its server, on its instances, in its sizes."""

    to: str
    """Where in S3 the service reads it, `s3://bucket/prefix`."""
    server: ServerKind = ServerKind.TGI
    """Which server it is compiled for. Default: `tgi`."""
    instance_type: str = "inf2.xlarge"
    """On what it is served, by EC2's name. Default: `inf2.xlarge`."""
    tensor_parallel: int | None = None
    """Over how many NeuronCores it is spread there. Default: all of the instance."""
    batch_size: int = default_batch_size()
    """How many sequences are generated side by side. Default: 4."""
    sequence_length: int = default_sequence_length()
    """Tokens of prompt and answer together, at most. Default: 4096."""
    environment: str | None = None
    """Which of the partition's environments it is compiled in, by its name: one with optimum-neuron and the compiler of
    the server's image. Default: the nodes' own for exports (`ServerEnvironment`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """Documents that are tokenized once. `TrainingRun` judges it."""

    place: str
    """An id of a data set on the Hub (`owner/name`), `s3://bucket/prefix`, or a folder on shared storage."""
    text_field: str = "text"
    """Which field of a document is the text. Default: `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """A training run: the model, what it learns from, on what, and how it is spread over the processes there.

    What is left out is worked out from the partition. Raises `FleetError` with everything that would fail on the
    cluster: degrees that do not divide, a batch that does not, a model that does not fit the memory of its
    accelerators (an estimate), each with what to write instead.
    """

    name: str
    """Its name: that of its folder and of its jobs in Slurm."""
    partition: TrainingPartition
    """Where it takes place."""
    model: str
    """An id of the Hugging Face Hub (`owner/name`), `s3://bucket/prefix`, or a folder on shared storage."""
    data: TrainingData
    """What it learns from."""
    nodes: int | None = None
    """On how many nodes. Default: all of the partition."""
    backend: Backend | None = None
    """What spreads it. Default: `NEURON` on Trainium, `FSDP` on GPUs, else `CPU`."""
    shape: TrainedShape | None = None
    """How large the model is. Default: what is known of a model of that name."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: its main branch, which may move."""
    folder: str | None = None
    """Where on shared storage everything of it lies. Default: `runs/<name>` beside the runtime's folder."""
    sequence_length: int | None = None
    """Tokens of a sequence. Default: 4096, or what the model was made for where that is less."""
    global_batch: int | None = None
    """Sequences of a step. Default: 256, rounded to what micro batch and data parallel divide."""
    micro_batch: int = 1
    """Sequences that a process works on at once. Default: 1."""
    tensor_parallel: int | None = None
    """Over how many processes a layer is spread. Default: the fewest with which the model fits."""
    pipeline_parallel: int | None = None
    """Over how many groups of processes the layers are shared out; `NEMO_MEGATRON` alone has it. Default: 1."""
    context_parallel: int | None = None
    """Over how many processes a sequence is shared out; `SMP` alone has it. Default: 1."""
    shard_degree: int | None = None
    """Over how many processes FSDP shards weights, gradients and optimizer. Default: all."""
    activation_checkpointing: ActivationCheckpointing | None = None
    """What is worked out again in the backward pass. Default: `FULL`; `NONE` on processors."""
    precision: Precision | None = None
    """What it computes with. Default: `MIXED`; `FLOAT32` on processors."""
    from_weights: bool = False
    """Whether it begins with the model's weights. Default: no; with random ones, of the model's shape."""
    steps: int = 1000
    """How many steps. Default: 1000."""
    learning_rate: float = 3e-4
    """At its highest. Default: 3e-4."""
    warmup_steps: int | None = None
    """Steps until then. Default: 100, or a fifth of the steps where that is less."""
    weight_decay: float = 0.1
    """Of AdamW. Default: 0.1."""
    seed: int | None = None
    """What chance begins with. Default: 1234."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """When it saves itself."""
    max_restarts: int = 10
    """How often it is put into the queue again after a failure that a restart may mend. Default: 10."""
    export: ServedExport | None = None
    """What becomes of the trained model. Default: nothing; it lies in the run's folder."""
    smp: SmpConfiguration | None = None
    """With `SMP`: the library's configuration (`SmpConfiguration`). Default: the library's own."""

    def __post_init__(self) -> None:
        """Take the shape that the model's name tells; raise `FleetError` for everything that is wrong."""
        if self.shape is None and isinstance(self.model, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            object.__setattr__(self, "shape", known_trained_shape(self.model))
        raise_problems(check_run(self), subject=f"TrainingRun {self.name!r}")

    @property
    def plan(self) -> RunPlan:
        """The run with all its defaults."""
        found = planned(self)
        if found is None:
            raise AssertionError("a run whose instance type is unknown raises when it is made")
        return found

    @property
    def memory(self) -> MemoryEstimate | None:
        """What a process keeps in memory, as estimated; `None` where size or memory are not known."""
        return estimate(self.plan, self.shape)
