"""Of what form what a partition says of itself is. A fleet file's always is; a Python user may slip."""

from collections.abc import Iterator, Mapping

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.training_environments import most_nodes, most_processes
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.forms import Form, check_attributes, wrong_names
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.training.run.known import check_known
from llm_fleet.rules.training.run.partition import TrainingPartition


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
