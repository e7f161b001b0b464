"""Training runs on a cluster (`jobs` of a fleet file): model, data, parallelism, checkpoints and export."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from llm_fleet.catalog.model_server import default_batch_size, default_sequence_length
from llm_fleet.spec.model import OWN_KEY
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.model_shape import TrainedShape
from llm_fleet.spec.smp import SmpConfiguration
from llm_fleet.spec.spec import SHORTHAND, Spec
from llm_fleet.spec.values import NeuronInstanceName


class Backend(StrEnum):
    """Library that distributes a run over its processes."""

    NEURON = "neuron"
    """torch-neuronx and neuronx-distributed: tensor parallel, the optimizer sharded over data parallel (ZeRO-1)."""
    NEMO_MEGATRON = "nemo-megatron"
    """neuronx-nemo-megatron, as in the blog post of the Trainium launch, on the last Neuron release that has it; also
    pipeline parallel."""
    FSDP = "fsdp"
    """PyTorch's FSDP2: weights, gradients and optimizer sharded."""
    SMP = "smp"
    """SageMaker's model parallel library v2: FSDP with tensor and context parallel."""
    CPU = "cpu"
    """PyTorch on CPUs with gloo: for tests and for learning."""


class ActivationCheckpointing(StrEnum):
    """Which activations of a layer are recomputed in the backward pass instead of being stored."""

    NONE = "none"
    """None: the fastest, and needs the most memory."""
    SELECTIVE = "selective"
    """Only the attention scores."""
    FULL = "full"
    """Everything except each layer's input: needs the least memory, and about a third more computation."""


class Precision(StrEnum):
    """Numeric precision of a run."""

    MIXED = "mixed"
    """bf16, with the weights and moments of the optimizer in fp32."""
    FLOAT32 = "float32"
    """fp32 throughout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPartition:
    """A Slurm partition, with the properties that a run depends on. `TrainingRun` checks it; it raises no error itself.

    A job of a fleet file gets it from its cluster. For a cluster that is not part of the app, fill it in yourself.
    """

    cluster: str
    """The cluster's name in AWS."""
    name: str
    """The partition's name."""
    instance_type: str
    """Instance type of its nodes, by EC2's or SageMaker's name, e.g. `trn1.32xlarge` or `ml.trn1.32xlarge`."""
    nodes: int
    """Maximum number of nodes."""
    processes: int | None = None
    """Processes of a run on each node, if the runtime sets a number other than one for each accelerator core."""
    training_folder: str | None = "/fsx/llm-fleet"
    """Folder of the training runtime on shared storage; `None` if the nodes have none."""
    environments: tuple[str, ...] | None = None
    """Names of the environments on its nodes, including those for exports; `None` if unknown."""
    exports_for: tuple[str, ...] | None = None
    """Servers for whose compiler it has an export environment; `None` if unknown."""
    shared_mounts: tuple[str, ...] = ("/fsx",)
    """Mount paths of the file systems that all nodes share."""
    file_system_gib: int | None = None
    """Size of the file system of `training_folder` in GiB; `None` if unknown."""
    hub_token_secret_arn: str | None = None
    """ARN of the secret with the Hugging Face Hub token, which the runtime passes to its jobs."""
    reads: tuple[str, ...] | None = None
    """Names of buckets that its nodes may read; `None` if unknown."""
    writes: tuple[str, ...] | None = None
    """Names of buckets that its nodes may read and write; `None` if unknown."""


class TrainingData(Spec):
    """Training data: documents, tokenized once. A string is short for `place` alone."""

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("s3", "hub", "path", "dataset", "uri", "name"), "write `place`"),
        **dict.fromkeys(("field", "column", "text"), "write `text_field`"),
    }

    place: Annotated[str, SHORTHAND, Field(examples=["togethercomputer/RedPajama-Data-1T-Sample"])]
    """Id of a data set on the Hub, `s3://<bucket>/<folder>`, or a folder on shared storage."""
    text_field: str = "text"
    """Field of a document that contains the text. Default: `text`."""


class Checkpoint(Spec):
    """Checkpoints of a run: their interval, number and copies in S3."""

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("interval", "steps", "every_steps"), "write `every`, in steps"),
        **dict.fromkeys(("kept", "count"), "write `keep`"),
        **dict.fromkeys(("s3", "bucket", "to", "upload"), "write `mirror: s3://<bucket>/<folder>`"),
        "folder": "remove it: checkpoints are in the job's `folder`",
    }

    every: int = 100
    """Steps between two checkpoints, the most that a lost node costs. Default: 100."""
    keep: int = 2
    """Number of complete checkpoints that are kept. Default: 2."""
    mirror: str | None = None
    """S3 folder that checkpoints are copied to, in a bucket of the cluster's `writes`. Default: no copies."""


class ServedExport(Spec):
    """Export of the trained model for an inference service: compiled for its server, instance type and sizes."""

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("s3", "place", "uri", "model"), "write `to`"),
        "batch": "write `batch_size`",
        "sequence": "write `sequence_length`",
    }

    to: str
    """S3 folder of the exported model, `s3://<bucket>/<folder>`, in a bucket of the cluster's `writes`."""
    server: ServerKind = ServerKind.TGI
    """Server that it is compiled for. Default: `tgi`."""
    instance_type: Annotated[NeuronInstanceName, Field(alias="instance")] = "inf2.xlarge"
    """EC2 instance type that it is served on. Default: `inf2.xlarge`."""
    tensor_parallel: int | None = None
    """Number of NeuronCores that the model is split over when it is served. Default: all of the instance."""
    batch_size: int = default_batch_size()
    """Number of sequences that are generated at the same time. Default: 4."""
    sequence_length: int = default_sequence_length()
    """Maximum number of tokens of a prompt and its answer together. Default: 4096."""
    environment: str | None = None
    """Name of the environment, under `training: environments` of the job's cluster, in which it is compiled. Default:
    the one with `use: export`. Servers that compile models themselves need none."""


class TrainingRunSpec(Spec):
    """A training run of one model. Values that are left out are derived from the partition."""

    other_words: ClassVar[Mapping[str, str]] = {
        "queue": "write `partition`",
        "count": "write `nodes`",
        "instance": "write `partition`: the cluster defines the instance types of its nodes",
        "framework": "write `backend`",
        "strategy": "write `backend`",
        "tp": "write `tensor_parallel`",
        "tensor_parallel_size": "write `tensor_parallel`",
        "pp": "write `pipeline_parallel`",
        "pipeline_parallel_size": "write `pipeline_parallel`",
        "cp": "write `context_parallel`",
        "context_parallel_degree": "write `context_parallel`",
        "hybrid_shard_degree": "write `shard_degree`",
        "data_parallel": "remove it: it is what the other degrees leave of the processes",
        "batch_size": "write `global_batch`, and `micro_batch` for the sequences of one process",
        "global_batch_size": "write `global_batch`",
        "micro_batch_size": "write `micro_batch`",
        "seq_length": "write `sequence_length`",
        "max_steps": "write `steps`",
        "lr": "write `learning_rate`",
        "warmup": "write `warmup_steps`",
        "dataset": "write `data`",
        "checkpoint_every": "write `checkpoint: {every: 100}`",
        "mirror": "write `checkpoint: {mirror: s3://<bucket>/<folder>}`",
        "service": "write `export: {service: <name>}`",
        "environment": "remove it: jobs use the environment of their nodes, set under `training:` of the cluster",
        **dict.fromkeys(("fp32", "32", "32-true"), "write `float32`"),
        **dict.fromkeys(("bf16", "bfloat16", "bf16-mixed"), "write `mixed`"),
        **dict.fromkeys(("pytorch", "fsdp2", "torch"), "write `fsdp`"),
        **dict.fromkeys(("nxd", "neuronx", "neuronx-distributed"), "write `neuron`"),
        "nemo": "write `nemo-megatron`",
        "name": "write the name as the job's key, in front of its colon",
        "hf_token": "write `hub_token_secret` under `training:` of the cluster; a token must never be in a file",
    }

    name: Annotated[str, Field(alias=OWN_KEY)]
    """Name of the run, of its folder and of its Slurm jobs."""
    model: Annotated[str, Field(examples=["meta-llama/Llama-2-7b-hf"])]
    """Model: an id on the Hub, `s3://<bucket>/<folder>`, or a folder on shared storage."""
    data: Annotated[TrainingData, Field(examples=[{"place": "s3://my-corpus/documents"}, "s3://my-corpus/documents"])]
    """Training data: id of a data set on the Hub, `s3://…`, a folder, or a mapping."""
    nodes: int | None = None
    """Number of nodes. Default: all of the partition."""
    backend: Backend | None = None
    """Library that distributes the run: `neuron`, `nemo-megatron`, `fsdp`, `smp` or `cpu`. Default: `neuron` on
    Trainium, `fsdp` on GPUs, otherwise `cpu`."""
    shape: TrainedShape | None = None
    """Sizes of the model. Default: derived from the model's name, if possible."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: the main branch, which can change."""
    from_weights: bool = False
    """Whether training starts with the model's weights. Default: no; with random weights, in the model's shape."""
    folder: str | None = None
    """Folder of the run on shared storage. Default: `runs/<name>` in the parent folder of the training runtime."""
    sequence_length: int | None = None
    """Tokens in a sequence. Default: 4096, or the model's own maximum if that is less."""
    global_batch: int | None = None
    """Sequences in a step. Default: 256, rounded to a multiple of micro batch times data parallel degree."""
    micro_batch: int = 1
    """Sequences that a process computes at the same time. Default: 1."""
    tensor_parallel: int | None = None
    """Number of processes that each layer is split over. Default: the fewest with which the model fits."""
    pipeline_parallel: int | None = None
    """Number of process groups that the layers are divided among; only `nemo-megatron`. Default: 1."""
    context_parallel: int | None = None
    """Number of processes that a sequence is split over; only `smp`. Default: 1."""
    shard_degree: int | None = None
    """Number of processes over which `fsdp` and `smp` shard weights, gradients and optimizer. Default: all."""
    activation_checkpointing: ActivationCheckpointing | None = None
    """Activations that the backward pass recomputes: `none`, `selective` or `full`. Default: `full`; `none` on
    `cpu`."""
    precision: Precision | None = None
    """`mixed` (bf16, with fp32 weights in the optimizer) or `float32`. Default: `mixed`; `float32` on `cpu`."""
    steps: int = 1000
    """Number of steps. Default: 1000."""
    learning_rate: float = 3e-4
    """Maximum learning rate. Default: 0.0003."""
    warmup_steps: int | None = None
    """Steps until the maximum learning rate. Default: 100, or a fifth of the steps if that is less."""
    weight_decay: float = 0.1
    """Weight decay of AdamW. Default: 0.1."""
    seed: int | None = None
    """Seed of the random number generators. Default: 1234."""
    checkpoint: Checkpoint = Checkpoint()
    """Checkpoints: interval, number and copies."""
    max_restarts: int = 10
    """How many times the job is requeued after a failure that a restart can fix. Default: 10."""
    export: Annotated[ServedExport | None, Field(examples=["{service: chat}"])] = None
    """Export of the trained model. Default: none; the model stays in the job's folder."""
    smp: Annotated[SmpConfiguration | None, Field(examples=["{}"])] = None
    """With `backend: smp`: configuration of the library. Default: the library's own values."""


class PlacedRun(TrainingRunSpec):
    """A run and its partition: the input of its rules, from the fleet file and from Python."""

    partition: TrainingPartition
    """Partition of the run."""
