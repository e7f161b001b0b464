"""For each invalid input of a training run, fleet file and `TrainingRun` report one error, with the same code."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from llm_fleet.jobs.settings import TrainingRun
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.jobs import (
    ActivationCheckpointing,
    Backend,
    Checkpoint,
    Precision,
    ServedExport,
    TrainingData,
    TrainingPartition,
)
from tests.fleet_file import good_job
from tests.fleet_file.good_job import SECRET, with_keys

PARTITION: dict[str, Any] = {
    "cluster": "ml",
    "name": "trn1",
    "instance_type": "ml.trn1.32xlarge",
    "nodes": 4,
    "environments": ("any",),
    "exports_for": (),
    "file_system_gib": 4800,
    "hub_token_secret_arn": SECRET,
    "reads": (),
    "writes": ("our-models", "our-checkpoints"),
}


@dataclass(frozen=True, kw_only=True)
class Bad:
    code: str
    keys: str
    where: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


BAD = {
    "TP 3 on 32 cores": Bad(
        code="LF856", keys="tensor_parallel: 3", where="tensor_parallel", arguments={"tensor_parallel": 3}
    ),
    "world size": Bad(
        code="LF858",
        keys="backend: nemo-megatron\nnodes: 3\ntensor_parallel: 32\npipeline_parallel: 8",
        where="nodes",
        arguments={"backend": Backend.NEMO_MEGATRON, "nodes": 3, "tensor_parallel": 32, "pipeline_parallel": 8},
    ),
    "global batch": Bad(code="LF859", keys="global_batch: 250", where="global_batch", arguments={"global_batch": 250}),
    "context": Bad(
        code="LF855", keys="context_parallel: 2", where="context_parallel", arguments={"context_parallel": 2}
    ),
    "more nodes": Bad(code="LF852", keys="nodes: 5", where="nodes", arguments={"nodes": 5}),
    "too long": Bad(
        code="LF860", keys="sequence_length: 8192", where="sequence_length", arguments={"sequence_length": 8192}
    ),
    "memory": Bad(code="LF868", keys="tensor_parallel: 2", where="tensor_parallel", arguments={"tensor_parallel": 2}),
    "backend": Bad(code="LF854", keys="backend: smp", where="backend", arguments={"backend": Backend.SMP}),
    "folder": Bad(code="LF863", keys="folder: /tmp/x", where="folder", arguments={"folder": "/tmp/x"}),
    "mirror": Bad(
        code="LF866",
        keys="checkpoint: {mirror: 's3://theirs/x'}",
        where="checkpoint.mirror",
        arguments={"checkpoint": Checkpoint(mirror="s3://theirs/x")},
    ),
    "room": Bad(
        code="LF867",
        keys="checkpoint: {keep: 100}",
        where="checkpoint.keep",
        arguments={"checkpoint": Checkpoint(keep=100)},
    ),
    "steps": Bad(code="LF870", keys="steps: 0", where="steps", arguments={"steps": 0}),
    "an export without an environment": Bad(
        code="LF873",
        keys="export: {to: 's3://our-models/x'}",
        where="export.environment",
        arguments={"export": ServedExport(to="s3://our-models/x")},
    ),
    "export": Bad(
        code="LF703",
        keys="export: {to: 's3://our-models/x', tensor_parallel: 3}",
        where="export.tensor_parallel",
        arguments={"export": ServedExport(to="s3://our-models/x", tensor_parallel=3)},
    ),
}


def values(**changed: Any) -> dict[str, Any]:
    good: dict[str, Any] = {
        "name": "llama",
        "partition": TrainingPartition(**PARTITION),
        "model": "meta-llama/Llama-2-7b-hf",
        "data": TrainingData(place="me/corpus"),
    }
    return {**good, **changed}


@pytest.mark.parametrize("name", BAD)
def test_fleet_file_and_run_report_the_same_error(name: str):
    bad = BAD[name]
    of_file = good_job.problems(*with_keys(bad.keys))
    with pytest.raises(FleetError) as error:
        TrainingRun(**values(**bad.arguments))
    of_run = error.value.problems
    assert [(each.code.value, each.where) for each in of_file] == [(bad.code, f"jobs.llama.{bad.where}")]
    assert [(each.code.value, each.where) for each in of_run] == [(bad.code, bad.where)]
    assert of_file[0].message == of_run[0].message


def test_a_job_of_the_file_becomes_the_equivalent_run():
    keys = """\
nodes: 2
backend: neuron
revision: main
from_weights: true
folder: /fsx/me/llama
sequence_length: 2048
global_batch: 64
micro_batch: 1
tensor_parallel: 8
activation_checkpointing: selective
precision: mixed
steps: 500
learning_rate: 0.0001
warmup_steps: 50
weight_decay: 0.05
seed: 7
checkpoint: {every: 50, keep: 3, mirror: "s3://our-checkpoints/llama"}
max_restarts: 3
export: {to: "s3://our-models/llama", batch_size: 1, environment: any}"""
    expected = TrainingRun(
        **values(
            nodes=2,
            backend=Backend.NEURON,
            revision="main",
            from_weights=True,
            folder="/fsx/me/llama",
            sequence_length=2048,
            global_batch=64,
            micro_batch=1,
            tensor_parallel=8,
            activation_checkpointing=ActivationCheckpointing.SELECTIVE,
            precision=Precision.MIXED,
            steps=500,
            learning_rate=1e-4,
            warmup_steps=50,
            weight_decay=0.05,
            seed=7,
            checkpoint=Checkpoint(every=50, keep=3, mirror="s3://our-checkpoints/llama"),
            max_restarts=3,
            export=ServedExport(to="s3://our-models/llama", batch_size=1, environment="any"),
        )
    )
    assert good_job.run(*with_keys(keys)) == expected


def test_defaults_of_fleet_file_and_run_are_the_same():
    of_file, of_run = good_job.run(), TrainingRun(**values())
    for name in TrainingRun.model_fields:
        assert getattr(of_file, name) == getattr(of_run, name), name
