"""Of what form the values of a run and of its partition are, and which are not there yet."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.training_environments import most_nodes, most_processes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import Form, check_attributes, wrong_names
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.run import ActivationCheckpointing, Backend, Precision, TrainingPartition
from llm_fleet.spec.model_server import ServerKind


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


def check_known(part: Any, forms: Mapping[str, Form], names: Iterable[str] | None = None) -> list[Problem]:
    """Return a problem for each of `names` (default: all of `forms`) that is a CDK token."""
    return [
        Problem(
            code=forms[name].code,
            message="this is known only when a stack is deployed, and batch files are written before",
            remedy="write the value itself, as it will be",
            path=(name,),
            value=str(getattr(part, name)),
        )
        for name in (forms if names is None else names)
        if is_unresolved(getattr(part, name))
    ]


def check_server(export: Any) -> list[Problem]:
    """Return that the server of `export` is none that we know."""
    kinds = [kind.value for kind in ServerKind]
    if export.server in kinds:
        return []
    return [
        Problem(
            code=Code.NOT_A_CHOICE,
            message="there is no such server",
            remedy="write ServerKind.TGI",
            path=("server",),
            value=export.server,
            allowed=", ".join(kinds),
        )
    ]


def _form(wanted: str, type_: type, example: str, *, optional: bool = False) -> Form:
    remedy = f"write {example}{', or leave it out' if optional else ''}"
    return Form(wanted=wanted, types=(type_,), code=Code.JOB_PARTITION, remedy=remedy, optional=optional)


_PARTITION: Mapping[str, Form] = {
    "cluster": _form("a text", str, "the cluster's name in quotes"),
    "name": _form("a text", str, "the partition's name in quotes"),
    "instance_type": _form("a text", str, "EC2's name, e.g. 'trn1.32xlarge'"),
    "nodes": _form("a whole number", int, "4"),
    "processes": _form("a whole number", int, "8", optional=True),
    "training_folder": _form("a text", str, "a path in quotes, e.g. '/fsx/llm-fleet'", optional=True),
    "environments": _form("a tuple of texts", tuple, "('neuron',)", optional=True),
    "exports_for": _form("a tuple of texts", tuple, "('tgi',)", optional=True),
    "shared_mounts": _form("a tuple of texts", tuple, "('/fsx',)"),
    "file_system_gib": _form("a whole number", int, "4800", optional=True),
    "hub_token_secret_arn": _form("a text", str, "'arn:aws:secretsmanager:…'", optional=True),
    "reads": _form("a tuple of texts", tuple, "('my-bucket',)", optional=True),
    "writes": _form("a tuple of texts", tuple, "('my-bucket',)", optional=True),
}
_SEVERAL = ("environments", "exports_for", "shared_mounts", "reads", "writes")
_POSITIVE = {"processes": most_processes, "file_system_gib": None}
_KNOWN = (
    "instance_type",
    "nodes",
    "processes",
    "training_folder",
    "environments",
    "exports_for",
    "shared_mounts",
    "file_system_gib",
)
"""What a run is judged by and written with; of the rest, tokens are passed over."""


def check_partition(partition: TrainingPartition) -> list[Problem]:
    """Return what is wrong with the values of `partition`, each by itself; what they make of a run is judged later."""
    found = [*check_attributes(partition, _PARTITION), *check_known(partition, _PARTITION, _KNOWN)]
    wrong = wrong_names(found)
    return [*found, *_texts(partition, wrong), *_numbers(partition, wrong)]


def _texts(partition: TrainingPartition, wrong: frozenset[str]) -> Iterator[Problem]:
    for name in _SEVERAL:
        values: tuple[object, ...] | None = None if name in wrong else getattr(partition, name)
        for index, value in enumerate(values or ()):
            if not isinstance(value, str):
                yield Problem(
                    code=Code.JOB_PARTITION,
                    message=f"this must be a text, and is of type {type(value).__name__}",
                    remedy=_PARTITION[name].remedy,
                    path=(name, index),
                    value=value,
                    allowed="texts",
                )


def _numbers(partition: TrainingPartition, wrong: frozenset[str]) -> Iterator[Problem]:
    for name, most in _POSITIVE.items():
        if name not in wrong:
            limit = Limit(minimum=1, maximum=None if most is None else most())
            yield from check_number(getattr(partition, name), limit, Code.JOB_PARTITION, name, what=name)
    nodes = partition.nodes
    if "nodes" not in wrong and not is_unresolved(nodes) and nodes > most_nodes():
        yield Problem(
            code=Code.JOB_PARTITION,
            message=f"the partition {partition.name} is said to have more nodes than any that we know of",
            remedy="write how many it has",
            path=("nodes",),
            value=nodes,
            allowed=f"up to {most_nodes()}",
        )
