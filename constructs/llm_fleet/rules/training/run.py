"""What is wrong with the values of a training run and of its partition, each by itself."""

from collections.abc import Iterator, Mapping
from typing import Any

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.training_environments import most_nodes, most_processes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import Form, check_attributes, wrong_names
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_hyphenated_name, check_number
from llm_fleet.spec.jobs import Checkpoint, PlacedRun, ServedExport, TrainingData, TrainingPartition
from llm_fleet.spec.spec import Spec

SPREAD = frozenset(
    {
        *("partition", "model", "nodes", "backend", "shape", "sequence_length", "global_batch", "micro_batch"),
        *("tensor_parallel", "pipeline_parallel", "context_parallel", "shard_degree"),
        *("activation_checkpointing", "precision", "smp"),
    }
)
"""What says how a run is spread: with one of them wrong, nothing can be said of that."""


_OF_TEXT: Mapping[type[Spec], Mapping[str, Code]] = {
    PlacedRun: {
        "name": Code.JOB_NAME,
        "model": Code.JOB_PLACE,
        "data": Code.JOB_PLACE,
        "revision": Code.JOB_PLACE,
        "folder": Code.JOB_FOLDER,
        "partition": Code.JOB_PARTITION,
        **dict.fromkeys(("backend", "activation_checkpointing", "precision"), Code.NOT_A_CHOICE),
        "shape": Code.MODEL_SHAPE,
        "from_weights": Code.WRONG_TYPE,
        "export": Code.JOB_EXPORT,
        "smp": Code.SMP_VALUE,
    },
    TrainingData: dict.fromkeys(("place", "text_field"), Code.JOB_PLACE),
    Checkpoint: {"mirror": Code.JOB_BUCKET},
    ServedExport: {
        "to": Code.JOB_BUCKET,
        "server": Code.NOT_A_CHOICE,
        **dict.fromkeys(("instance_type", "environment"), Code.JOB_EXPORT),
    },
}
"""The codes of values that must be known and are no numbers, by what they are of."""


def check_run_known(run: PlacedRun) -> Iterator[Problem]:
    """Return a problem for each value of `run` that is a CDK token."""
    for kind, path, part in (
        (PlacedRun, (), run),
        (TrainingData, ("data",), run.data),
        (Checkpoint, ("checkpoint",), run.checkpoint),
        (ServedExport, ("export",), run.export),
    ):
        if isinstance(part, kind):
            codes = dict.fromkeys(kind.model_fields, Code.JOB_NUMBER) | dict(_OF_TEXT[kind])
            yield from (problem.under(*path) for problem in check_known(part, codes))


def check_known(part: Any, codes: Mapping[str, Code]) -> Iterator[Problem]:
    """Return a problem for each attribute in `codes` of `part` that is a CDK token, with its code."""
    yield from (
        Problem(
            code=code,
            message="this is known only when a stack is deployed, and batch files are written before",
            remedy="write the value itself, as it will be",
            path=(name,),
            value=str(getattr(part, name)),
        )
        for name, code in codes.items()
        if is_unresolved(getattr(part, name))
    )


_NAME = Limit(minimum=1, maximum=63, pattern="[a-zA-Z0-9](-*[a-zA-Z0-9])*")
_POSITIVE = (
    *("nodes", "sequence_length", "global_batch", "micro_batch", "tensor_parallel", "pipeline_parallel"),
    *("context_parallel", "shard_degree", "steps"),
)
_FROM_ZERO = ("warmup_steps", "seed", "max_restarts")


def check_run_name(name: str) -> list[Problem]:
    """Return what is wrong with a name that folders and Slurm's jobs bear."""
    return check_hyphenated_name(name, _NAME, Code.JOB_NAME, "name", what="job name")


def check_numbers(run: PlacedRun) -> Iterator[Problem]:
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
    """Return whether all are numbers: a token is reported already, and is passed over."""
    return not any(map(is_unresolved, values))


def _check(value: int | None, least: int, *path: str) -> list[Problem]:
    return check_number(value, Limit(minimum=least), Code.JOB_NUMBER, *path, what=path[-1].replace("_", " "))


def _wrong(message: str, remedy: str, name: str, run: PlacedRun) -> Problem:
    return Problem(code=Code.JOB_NUMBER, message=message, remedy=remedy, path=(name,), value=getattr(run, name))


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
_COUNTED = {"processes": most_processes, "file_system_gib": None}
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
    found = [
        *check_attributes(partition, _PARTITION),
        *check_known(partition, dict.fromkeys(_KNOWN, Code.JOB_PARTITION)),
    ]
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
    for name, most in _COUNTED.items():
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
