"""Rules of a run: partition, sources, storage, numbers, and export."""

from typing import Any

import pytest

from llm_fleet.spec.jobs import Backend, Checkpoint, ServedExport, TrainingData
from llm_fleet.spec.model_server import ServerKind
from llm_fleet.spec.model_shape import TrainedShape
from tests.rules.training.run.runs import partition, problems, run
from tests.rules.training.run.test_spread import SMALL

SHAPE = TrainedShape(**SMALL)
TO = "s3://models/llama"

BAD: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a name with a space": ({"name": "my llama"}, "LF850", "name", "`my-llama`"),
    "more nodes than there are": ({"nodes": 5}, "LF852", "nodes", "nodes=4"),
    "a partition without nodes": ({"partition": partition(nodes=0)}, "LF851", "partition.nodes", "as many nodes as"),
    "an unknown type": ({"partition": partition("ml.trn9.huge")}, "LF851", "partition.instance_type", "trn1.32xlarge"),
    "no runtime": ({"partition": partition(training_folder=None)}, "LF853", "partition.training_folder", "training:"),
    "no environment": ({"partition": partition(environments=())}, "LF853", "partition.environments", "add one"),
    "fsdp on Trainium": ({"backend": Backend.FSDP}, "LF854", "backend", "backend='neuron'"),
    "neuron on GPUs": (
        {"backend": Backend.NEURON, "partition": partition("p5.48xlarge", 2)}, "LF854", "backend", "backend='fsdp'",
    ),
    "nemo-megatron on trn2": (
        {"backend": Backend.NEMO_MEGATRON, "partition": partition("trn2.48xlarge")}, "LF854", "backend", "neuron",
    ),
    "a folder that is not shared": ({"folder": "/tmp/x"}, "LF863", "folder", "below /fsx"),
    "a folder within the runtime's": ({"folder": "/fsx/llm-fleet/x"}, "LF863", "folder", "'/fsx/runs/llama'"),
    "a gated model without a token": (
        {"partition": partition(hub_token_secret_arn=None)}, "LF864", "model", "hub_token_secret",
    ),
    "an invalid model location": ({"model": "llama 2"}, "LF871", "model", ""),
    "a model of unknown size": ({"model": "me/mine"}, "LF716", "model", "TrainedShape"),
    "a model that cannot be trained": ({"model": "mistralai/Mixtral-8x7B-v0.1"}, "LF718", "model", "such as Llama"),
    "impossible numbers": (
        {"model": "/fsx/x", "shape": TrainedShape(**{**SMALL, "hidden": 0})}, "LF717", "shape.hidden", "1",
    ),
    "data that is not shared": ({"data": TrainingData(place="/home2/x")}, "LF863", "data.place", "/fsx"),
    "a revision of a folder": (
        {"model": "/fsx/x", "shape": SHAPE, "tensor_parallel": 2, "revision": "main"}, "LF714", "revision", "",
    ),
    "data that cannot be read": (
        {"data": TrainingData(place="s3://theirs/x"), "partition": partition(reads=("ours",), writes=())},
        "LF866", "data.place", "`reads: [s3://theirs]`",
    ),
    "a mirror that cannot be written": (
        {"checkpoint": Checkpoint(mirror="s3://theirs/x"), "partition": partition(writes=("ours",))},
        "LF866", "checkpoint.mirror", "`writes: [s3://theirs]`",
    ),
    "an invalid mirror": ({"checkpoint": Checkpoint(mirror="/fsx/x")}, "LF866", "checkpoint.mirror", "s3://"),
    "checkpoints without space": (
        {"partition": partition(file_system_gib=1200), "checkpoint": Checkpoint(keep=40)},
        "LF867", "checkpoint.keep", "keep=12",
    ),
    "no steps": ({"steps": 0}, "LF870", "steps", "1"),
    "a warm-up that never ends": ({"steps": 10, "warmup_steps": 20}, "LF870", "warmup_steps", "10 or less"),
    "a learning rate of 2": ({"learning_rate": 2}, "LF870", "learning_rate", "0.0003"),
    "a weight decay of 1": ({"weight_decay": 1.0}, "LF870", "weight_decay", "0.1"),
    "no checkpoints": ({"checkpoint": Checkpoint(every=0)}, "LF870", "checkpoint.every", "1"),
    "a seed below 0": ({"seed": -1}, "LF870", "seed", "0"),
    "an export for GPUs": (
        {"export": ServedExport(to=TO, instance_type="p5.48xlarge")}, "LF865", "export.instance_type", "inf2",
    ),
    "an export that its server cannot spread": (
        {"export": ServedExport(to=TO, tensor_parallel=3)}, "LF703", "export.tensor_parallel", "",
    ),
    "an export for a server of trn2 alone": (
        {"export": ServedExport(to=TO, server=ServerKind.AWS_VLLM_NEURON)}, "LF702", "export.server", "",
    ),
    "an export that does not fit": (
        {"export": ServedExport(to=TO, batch_size=64)}, "LF720", "export.instance_type", "batch_size=",
    ),
    "an export without an environment on the nodes": (
        {"partition": partition(exports_for=()), "export": ServedExport(to=TO)},
        "LF873", "export.environment", "{kind: server, server: tgi}",
    ),
    "an export for another server than that of the environment": (
        {"partition": partition(exports_for=("hugging-face-vllm",)), "export": ServedExport(to=TO)},
        "LF873", "export.environment", "`server: tgi`",
    ),
    "an export that trn2 cannot compile": (
        {"partition": partition("trn2.48xlarge", exports_for=()), "export": ServedExport(to=TO)},
        "LF873", "export.environment", "ModelExport",
    ),
    "an export in an unknown environment": (
        {"partition": partition(environments=("any", "export")), "export": ServedExport(to=TO, environment="exprot")},
        "LF865", "export.environment", "`export`",
    ),
    "an export without a destination": ({"export": ServedExport(to="models/x")}, "LF866", "export.to", "s3://"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_each_mistake_is_reported_once_with_a_remedy(name: str):
    arguments, code, where, remedy = BAD[name]
    found = problems(**arguments)
    assert [(problem.code.value, problem.where) for problem in found] == [(code, where)], found
    assert remedy in found[0].remedy
    assert found[0].message


def test_independent_mistakes_are_reported_together():
    codes = {problem.code.value for problem in problems(**_ALL)}
    assert codes == {"LF850", "LF852", "LF853", "LF856", "LF863", "LF866", "LF870"}


_ALL: dict[str, Any] = {
    "name": "-x",
    "nodes": 9,
    "partition": partition(training_folder=None, writes=()),
    "tensor_parallel": 3,
    "folder": "/tmp",
    "checkpoint": Checkpoint(mirror="s3://theirs/x", keep=0),
}


def test_unknown_values_of_a_partition_are_not_checked():
    assert run().memory is not None
    given = partition(reads=("ours",), writes=("theirs",), environments=("neuron",), file_system_gib=1200)
    good = {"partition": given, "data": TrainingData(place="s3://ours/x"), "folder": "/fsx/me/llama"}
    export = ServedExport(to="s3://theirs/y", environment="neuron")
    assert run(**good, checkpoint=Checkpoint(mirror="s3://theirs/x"), export=export)


def test_the_environment_of_an_export_must_exist():
    two = partition(environments=("any", "export"))
    assert run(partition=two, export=ServedExport(to=TO, environment="export"))
    none = partition(environments=("any",), exports_for=())
    assert run(partition=none, export=ServedExport(to=TO, server=ServerKind.AWS_VLLM)), "it compiles by itself"
    assert run(partition=none, export=ServedExport(to=TO, environment="any")), "the environment is unknown"
    assert run(partition=partition(exports_for=("tgi",)), export=ServedExport(to=TO))
    assert run(export=ServedExport(to=TO)), "the environments of the partition are unknown"
