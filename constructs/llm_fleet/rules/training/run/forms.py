"""Of what form the values of a run are, and what to write in Python for one of another."""

from collections.abc import Mapping

from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import Form
from llm_fleet.rules.training.run.terms import ActivationCheckpointing, Backend, Precision


def _text(code: Code, example: str, *, optional: bool = True) -> Form:
    return Form(wanted="a text", types=(str,), code=code, remedy=f"write {example}", optional=optional)


def _whole(example: int, *, optional: bool = True) -> Form:
    return Form(
        wanted="a whole number", types=(int,), code=Code.JOB_NUMBER, remedy=f"write {example}", optional=optional
    )


def _number(example: float) -> Form:
    return Form(wanted="a number", types=(int, float), code=Code.JOB_NUMBER, remedy=f"write {example}")


def _choice(choices: type[Backend | ActivationCheckpointing | Precision], example: str) -> Form:
    return Form(
        wanted=" or ".join(f"{choices.__name__}.{each.name}" for each in choices),
        types=(choices,),
        code=Code.NOT_A_CHOICE,
        remedy=f"write {choices.__name__}.{example}, or leave it out",
        optional=True,
    )


def _part(name: str, *attributes: str, code: Code, optional: bool = False) -> Form:
    return Form(wanted=f"a {name}", has=attributes, code=code, remedy=f"write {name}(…)", optional=optional)


RUN: Mapping[str, Form] = {
    "name": _text(Code.JOB_NAME, "a short name in quotes, e.g. 'llama2-7b'", optional=False),
    "partition": _part("TrainingPartition", "instance_type", "nodes", code=Code.JOB_PARTITION),
    "model": _text(Code.JOB_PLACE, "'owner/name' of the Hub, 's3://…' or a folder", optional=False),
    "data": _part("TrainingData", "place", "text_field", code=Code.JOB_PLACE),
    "nodes": _whole(4),
    "backend": _choice(Backend, "FSDP"),
    "shape": _part("TrainedShape", "hidden", "intermediate", "vocabulary", code=Code.MODEL_SHAPE, optional=True),
    "revision": _text(Code.JOB_PLACE, "a branch, tag or commit in quotes"),
    "folder": _text(Code.JOB_FOLDER, "a path in quotes, e.g. '/fsx/runs/llama2-7b'"),
    "sequence_length": _whole(4096),
    "global_batch": _whole(256),
    "micro_batch": _whole(1, optional=False),
    "tensor_parallel": _whole(8),
    "pipeline_parallel": _whole(1),
    "context_parallel": _whole(1),
    "shard_degree": _whole(8),
    "activation_checkpointing": _choice(ActivationCheckpointing, "FULL"),
    "precision": _choice(Precision, "MIXED"),
    "from_weights": Form(
        wanted="True or False", types=(bool,), code=Code.WRONG_TYPE, remedy="write True or False, without quotes"
    ),
    "steps": _whole(1000, optional=False),
    "learning_rate": _number(3e-4),
    "warmup_steps": _whole(100),
    "weight_decay": _number(0.1),
    "seed": _whole(1234),
    "checkpoint": _part("Checkpoint", "every", "keep", "mirror", code=Code.JOB_NUMBER),
    "max_restarts": _whole(10, optional=False),
    "export": _part("ServedExport", "to", "server", "instance_type", code=Code.JOB_EXPORT, optional=True),
    "smp": _part("SmpConfiguration", "hybrid_shard_degree", "backend", code=Code.SMP_VALUE, optional=True),
}
DATA: Mapping[str, Form] = {
    "place": _text(Code.JOB_PLACE, "'owner/name' of the Hub, 's3://…' or a folder", optional=False),
    "text_field": _text(Code.JOB_PLACE, "a name in quotes, e.g. 'text'", optional=False),
}
CHECKPOINT: Mapping[str, Form] = {
    "every": _whole(100, optional=False),
    "keep": _whole(2, optional=False),
    "mirror": _text(Code.JOB_BUCKET, "'s3://bucket/prefix', or leave it out"),
}
EXPORT: Mapping[str, Form] = {
    "to": _text(Code.JOB_BUCKET, "'s3://bucket/prefix'", optional=False),
    "instance_type": _text(Code.JOB_EXPORT, "EC2's name, e.g. 'inf2.xlarge'", optional=False),
    "tensor_parallel": _whole(2),
    "batch_size": _whole(4, optional=False),
    "sequence_length": _whole(4096, optional=False),
    "environment": _text(Code.JOB_EXPORT, "the name of an environment in quotes, e.g. 'export'"),
}
SPREAD = frozenset(
    {
        *("partition", "model", "nodes", "backend", "shape", "sequence_length", "global_batch", "micro_batch"),
        *("tensor_parallel", "pipeline_parallel", "context_parallel", "shard_degree"),
        *("activation_checkpointing", "precision", "smp"),
    }
)
"""What says how a run is spread: with one of them wrong, nothing can be said of that."""
