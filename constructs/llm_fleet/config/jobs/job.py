"""A training job."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr

from llm_fleet.config.jobs.checkpoint import CheckpointConfig
from llm_fleet.config.jobs.data import DataConfig
from llm_fleet.config.jobs.export import JobExportConfig
from llm_fleet.named_files.named_file import read_trained_shape
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run import ActivationCheckpointing, Backend, Precision
from llm_fleet.rules.training.run_sources import known_trained_shape
from llm_fleet.spec.model import NamedModel
from llm_fleet.spec.model_shape import TrainedShape
from llm_fleet.spec.smp import SmpConfiguration


def or_place(schema: dict[str, Any]) -> None:
    """Let text stand for data of which only the place is told."""
    long = {key: schema.pop(key) for key in ("$ref", "allOf") if key in schema}
    schema["anyOf"] = [long, {"type": "string", "examples": ["s3://my-corpus/documents"]}]


class JobConfig(NamedModel):
    """A training run: one model, trained once. Its key is its name, that of its folder and of its jobs in Slurm."""

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

    model: str = Field(examples=["meta-llama/Llama-2-7b-hf"])
    """What is trained: an id of the Hub, `s3://<bucket>/<folder>`, or a folder on shared storage."""
    data: DataConfig = Field(
        examples=[{"place": "s3://my-corpus/documents"}, "s3://my-corpus/documents"], json_schema_extra=or_place
    )
    """What it learns from: an id of a data set on the Hub, `s3://…`, a folder, or more about it."""
    cluster: str | None = None
    """A name under `clusters`. Default: the only one."""
    partition: str | None = None
    """A Slurm partition of the cluster, on ParallelCluster a queue. Default: the only one."""
    nodes: int | None = None
    """On how many nodes. Default: all of the partition."""
    backend: Backend | None = None
    """What spreads it: `neuron`, `nemo-megatron`, `fsdp`, `smp` or `cpu`. Default: `neuron` on Trainium, `fsdp` on
    GPUs, else `cpu`."""
    own_shape: TrainedShape | None = Field(default=None, alias="shape")
    """How large the model is. Default: what is known of a model of that name."""
    config: str | None = None
    """Its `config.json` on this machine, from where this file lies, in place of `shape`. Default: none."""
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
    checkpoint: CheckpointConfig = CheckpointConfig()
    """When it saves itself."""
    max_restarts: int = 10
    """How often it is put into the queue again after a failure that a restart may mend. Default: 10."""
    export: JobExportConfig | None = Field(default=None, examples=["{service: chat}"])
    """What becomes of the trained model. Default: nothing; it lies in the job's folder."""
    smp: SmpConfiguration | None = Field(default=None, examples=["{}"])
    """With `backend: smp`: what the library is told. Default: the library's own values."""

    _numbers: TrainedShape | None = PrivateAttr(default=None)
    _unread: tuple[Problem, ...] = PrivateAttr(default=())

    def stand_in(self, directory: Path) -> None:
        """Take `directory`, that of the fleet file, for the one that `config` begins at, and read it."""
        if self.config is not None:
            self._numbers, problems = read_trained_shape(directory / self.config)
            self._unread = tuple(problems)

    @property
    def unread(self) -> tuple[Problem, ...]:
        """Why `config` tells nothing."""
        return self._unread

    @property
    def shape(self) -> TrainedShape | None:
        """As written, else what `config` tells, else what is known by its name."""
        return self.own_shape or self._numbers or known_trained_shape(self.model)
