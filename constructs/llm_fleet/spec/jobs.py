"""Training runs on a cluster, the jobs of a fleet file: what is trained, on what, and what becomes of it."""

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


class TrainingData(Spec):
    """Documents that a run learns from, tokenized once. Text is short for the place alone."""

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("s3", "hub", "path", "dataset", "uri", "name"), "write `place`"),
        **dict.fromkeys(("field", "column", "text"), "write `text_field`"),
    }

    place: Annotated[str, SHORTHAND, Field(examples=["togethercomputer/RedPajama-Data-1T-Sample"])]
    """An id of a data set on the Hub, `s3://<bucket>/<folder>`, or a folder on shared storage."""
    text_field: str = "text"
    """Which field of a document is the text. Default: `text`."""


class Checkpoint(Spec):
    """When a run saves itself, and where else."""

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("interval", "steps", "every_steps"), "write `every`, in steps"),
        **dict.fromkeys(("kept", "count"), "write `keep`"),
        **dict.fromkeys(("s3", "bucket", "to", "upload"), "write `mirror: s3://<bucket>/<folder>`"),
        "folder": "leave it out: checkpoints lie in the job's `folder`",
    }

    every: int = 100
    """Steps from one to the next: what a lost node costs at most. Default: 100."""
    keep: int = 2
    """How many complete ones are kept. Default: 2."""
    mirror: str | None = None
    """Where in S3 they are copied to, in a bucket of the cluster's `writes`. Default: nowhere."""


class ServedExport(Spec):
    """The trained model as an inference service reads it: compiled for its server, on its instances, in its sizes."""

    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("s3", "place", "uri", "model"), "write `to`"),
        "batch": "write `batch_size`",
        "sequence": "write `sequence_length`",
    }

    to: str
    """Where in S3 a server reads it, `s3://<bucket>/<folder>`, in a bucket of the cluster's `writes`."""
    server: ServerKind = ServerKind.TGI
    """Which server it is compiled for. Default: `tgi`."""
    instance_type: Annotated[NeuronInstanceName, Field(alias="instance")] = "inf2.xlarge"
    """On what it is served, by EC2's name. Default: `inf2.xlarge`."""
    tensor_parallel: int | None = None
    """Over how many NeuronCores it is spread there. Default: all of the instance."""
    batch_size: int = default_batch_size()
    """How many sequences are generated side by side. Default: 4."""
    sequence_length: int = default_sequence_length()
    """Tokens of prompt and answer together, at most. Default: 4096."""
    environment: str | None = None
    """A name under `training: environments` of the job's cluster: what it is compiled in. Default: the one of
    `use: export` there; servers that compile by themselves need none."""


class TrainingRunSpec(Spec):
    """A training run: one model, trained once, wherever that is. What is left out is worked out from the partition."""

    other_words: ClassVar[Mapping[str, str]] = {
        "queue": "write `partition`",
        "count": "write `nodes`",
        "instance": "write `partition`: the cluster says what its nodes are",
        "framework": "write `backend`",
        "strategy": "write `backend`",
        "tp": "write `tensor_parallel`",
        "tensor_parallel_size": "write `tensor_parallel`",
        "pp": "write `pipeline_parallel`",
        "pipeline_parallel_size": "write `pipeline_parallel`",
        "cp": "write `context_parallel`",
        "context_parallel_degree": "write `context_parallel`",
        "hybrid_shard_degree": "write `shard_degree`",
        "data_parallel": "leave it out: it is what the other degrees leave of the processes",
        "batch_size": "write `global_batch`, and `micro_batch` for what a process works on at once",
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
        "environment": "leave it out: jobs find that of their nodes, told under `training:` of the cluster",
        **dict.fromkeys(("fp32", "32", "32-true"), "write `float32`"),
        **dict.fromkeys(("bf16", "bfloat16", "bf16-mixed"), "write `mixed`"),
        **dict.fromkeys(("pytorch", "fsdp2", "torch"), "write `fsdp`"),
        **dict.fromkeys(("nxd", "neuronx", "neuronx-distributed"), "write `neuron`"),
        "nemo": "write `nemo-megatron`",
        "name": "write the name as the job's key, in front of its colon",
        "hf_token": "write `hub_token_secret` under `training:` of the cluster; a token is never text of a file",
    }

    name: Annotated[str, Field(alias=OWN_KEY)]
    """Its name, that of its folder and of its jobs in Slurm."""
    model: Annotated[str, Field(examples=["meta-llama/Llama-2-7b-hf"])]
    """What is trained: an id of the Hub, `s3://<bucket>/<folder>`, or a folder on shared storage."""
    data: Annotated[TrainingData, Field(examples=[{"place": "s3://my-corpus/documents"}, "s3://my-corpus/documents"])]
    """What it learns from: an id of a data set on the Hub, `s3://…`, a folder, or more about it."""
    nodes: int | None = None
    """On how many nodes. Default: all of the partition."""
    backend: Backend | None = None
    """What spreads it: `neuron`, `nemo-megatron`, `fsdp`, `smp` or `cpu`. Default: `neuron` on Trainium, `fsdp` on
    GPUs, else `cpu`."""
    shape: TrainedShape | None = None
    """How large the model is. Default: what is known of a model of that name."""
    revision: str | None = None
    """Branch, tag or commit on the Hub. Default: its main branch, which may move."""
    from_weights: bool = False
    """Whether it begins with the model's weights. Default: no; with random ones, of the model's shape."""
    folder: str | None = None
    """Where on shared storage all of it lies. Default: `runs/<name>` beside the folder of the training runtime."""
    sequence_length: int | None = None
    """Tokens of a sequence. Default: 4096, or what the model was made for where that is less."""
    global_batch: int | None = None
    """Sequences of a step. Default: 256, rounded to what micro batch and data parallel divide."""
    micro_batch: int = 1
    """Sequences that a process works on at once. Default: 1."""
    tensor_parallel: int | None = None
    """Over how many processes a layer is spread. Default: the fewest with which the model fits."""
    pipeline_parallel: int | None = None
    """Over how many groups of processes the layers are shared out; `nemo-megatron` has it. Default: 1."""
    context_parallel: int | None = None
    """Over how many processes a sequence is shared out; `smp` has it. Default: 1."""
    shard_degree: int | None = None
    """Over how many processes `fsdp` and `smp` shard weights, gradients and optimizer. Default: all."""
    activation_checkpointing: ActivationCheckpointing | None = None
    """What the backward pass works out again: `none`, `selective` or `full`. Default: `full`; `none` on `cpu`."""
    precision: Precision | None = None
    """`mixed`, bf16 with fp32 weights in the optimizer, or `float32`. Default: `mixed`; `float32` on `cpu`."""
    steps: int = 1000
    """How many steps. Default: 1000."""
    learning_rate: float = 3e-4
    """At its highest. Default: 0.0003."""
    warmup_steps: int | None = None
    """Steps until then. Default: 100, or a fifth of the steps where that is less."""
    weight_decay: float = 0.1
    """Of AdamW. Default: 0.1."""
    seed: int | None = None
    """What chance begins with. Default: 1234."""
    checkpoint: Checkpoint = Checkpoint()
    """When it saves itself."""
    max_restarts: int = 10
    """How often it is put into the queue again after a failure that a restart may mend. Default: 10."""
    export: Annotated[ServedExport | None, Field(examples=["{service: chat}"])] = None
    """What becomes of the trained model. Default: nothing; it lies in the job's folder."""
    smp: Annotated[SmpConfiguration | None, Field(examples=["{}"])] = None
    """With `backend: smp`: what the library is told. Default: the library's own values."""


class PlacedRun(TrainingRunSpec):
    """A run and where it takes place: what its rules read, of fleet file and Python alike."""

    partition: TrainingPartition
    """Where it takes place."""
