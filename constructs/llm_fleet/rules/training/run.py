"""A training run: its values, and where model and data come from."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from llm_fleet.catalog.data_file import Limit
from llm_fleet.catalog.model_server import is_gated, known_model, max_sequence, trained_model_types, training_memory
from llm_fleet.catalog.training_environments import most_nodes, most_processes
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.fields import Form, check_attributes, wrong_names
from llm_fleet.rules.inference.fit import GIB, in_gib
from llm_fleet.rules.inference.model import check_model, check_shape
from llm_fleet.rules.problem import Problem, is_unresolved
from llm_fleet.rules.training.run_plan import RunPlan, default_folder
from llm_fleet.rules.values import check_hyphenated_name, check_number
from llm_fleet.spec.jobs import Checkpoint, PlacedRun, ServedExport, TrainingData, TrainingPartition
from llm_fleet.spec.model_shape import Model, ModelShape, ModelSource, TrainedShape, shape_of_config
from llm_fleet.spec.spec import Spec


def known_trained_shape(location: str) -> TrainedShape | None:
    """Return the size of the model whose name ends `location`; `None` for a name that tells nothing.

    `location` is `meta-llama/Llama-2-7b-hf`, `s3://bucket/models/tanuki-8b` or a path.
    """
    name = location.rstrip("/").rsplit("/", 1)[-1]
    model = known_model(name)
    if model is None:
        return None
    found, _ = trained_shape_of_config({"max_position_embeddings": max_sequence(name), **model.config})
    return found


def trained_shape_of_config(config: Mapping[str, Any]) -> tuple[TrainedShape | None, list[Problem]]:
    """Return the size that a `config.json` tells, or what is wrong with it. GPT-J, of other words, is not trained."""
    numbers, problems = shape_of_config(config)
    if numbers is None:
        return None, problems
    if config["model_type"] not in trained_model_types():
        return None, [_not_trained(config["model_type"])]
    kept = {name: getattr(numbers, name) for name in ModelShape.model_fields}
    return TrainedShape.model_construct(
        **kept,
        hidden=config["hidden_size"],
        intermediate=config["intermediate_size"],
        vocabulary=config["vocab_size"],
        max_sequence=config.get("max_position_embeddings"),
    ), problems


def check_trained(location: str) -> list[Problem]:
    """Return a problem when the model whose name ends `location` is known, and none that is trained here."""
    model = known_model(location.rstrip("/").rsplit("/", 1)[-1])
    kind = None if model is None else model.config["model_type"]
    return [] if kind is None or kind in trained_model_types() else [_not_trained(kind)]


def _not_trained(kind: str) -> Problem:
    return Problem(
        code=Code.MODEL_CONFIG,
        message=f"it is of a model_type, {kind!r}, that the training program does not have",
        remedy="take a model of Llama's kind",
        allowed=", ".join(trained_model_types()),
    )


_S3 = "s3://"
_WIDTHS = ("hidden", "intermediate", "vocabulary", "max_sequence")
_PLACES = "an id of the Hub (owner/name), s3://bucket/prefix, or a folder on shared storage"


def source_of(location: str) -> ModelSource:
    """Return where `location` is: a path is on shared storage, what has a scheme in S3, and the rest on the Hub."""
    if "://" in location:
        return ModelSource.S3
    return ModelSource.IMAGE if location.startswith("/") else ModelSource.HUB


def check_sources(run: PlacedRun) -> list[Problem]:
    """Return what is wrong with the places of model and data, and with the revision."""
    found = [
        *_place(run.model, "model", revision=run.revision),
        *_place(run.data.place, "data", "place"),
    ]
    return [*found, *_gated(run), *_folders(run)]


def check_size(run: PlacedRun) -> list[Problem]:
    """Return that nobody told how large the model is, or numbers that no model has."""
    shape = run.shape
    other = check_trained(run.model)
    if other:
        return [replace(problem, path=("model",), value=run.model) for problem in other]
    if shape is None:
        return [
            run.wrong(
                "model",
                Code.MODEL_SHAPE_UNKNOWN,
                "nobody told how large the model is, and its name tells nothing, so that nobody knows whether it fits",
                "add shape=TrainedShape(…) with the numbers of its config.json",
            )
        ]
    return [problem.under("shape") for problem in (*check_shape(shape), *_widths(shape))]


def _widths(shape: TrainedShape) -> Iterator[Problem]:
    for name in _WIDTHS:
        what = name.replace("_", " ")
        yield from check_number(getattr(shape, name), Limit(minimum=1), Code.MODEL_SHAPE, name, what=what)


def _place(location: str, *path: str, revision: str | None = None) -> Iterator[Problem]:
    source = source_of(location)
    place = {ModelSource.S3: "s3_uri", ModelSource.HUB: "hub_id", ModelSource.IMAGE: "image_path"}[source]
    told: dict[str, Any] = {place: location, "revision": revision, "compiled": False}
    model = Model.model_construct(**told)
    for problem in check_model(model):
        if problem.path == model.place:
            yield replace(problem, code=Code.JOB_PLACE, path=path, allowed=_PLACES)
        elif problem.path == ("revision",):
            yield problem


def _gated(run: PlacedRun) -> Iterator[Problem]:
    if source_of(run.model) is not ModelSource.HUB or not is_gated(run.model):
        return
    if run.partition.hub_token_secret_arn is None and run.partition.training_folder is not None:
        yield run.wrong(
            "model",
            Code.JOB_GATED,
            f"the Hub gives {run.model} only to who has accepted its licence, and no token is told",
            "accept the licence on the model's page, put a token of that account into Secrets Manager, and tell "
            f"the training runtime of {run.partition.cluster} the ARN: `hub_token_secret`",
        )


def _folders(run: PlacedRun) -> Iterator[Problem]:
    for location, path in ((run.model, ("model",)), (run.data.place, ("data", "place"))):
        if source_of(location) is ModelSource.IMAGE and not is_shared(location, run):
            yield not_shared(location, run, *path)


def is_shared(folder: str, run: PlacedRun) -> bool:
    """Return whether `folder` lies below a file system that all nodes share."""
    return any(folder.startswith(f"{mount.rstrip('/')}/") for mount in run.partition.shared_mounts)


def not_shared(folder: str, run: PlacedRun, *path: str) -> Problem:
    """Return that `folder` is on no storage that all nodes share."""
    mounts = run.partition.shared_mounts
    return Problem(
        code=Code.JOB_FOLDER,
        message="the folder is on no storage that all nodes of the job share",
        remedy=f"take one below {' or '.join(mounts)}" if mounts else "give the cluster a file system",
        path=path,
        value=folder,
        allowed=", ".join(f"{mount.rstrip('/')}/…" for mount in mounts),
    )


def check_folder(run: PlacedRun) -> Iterator[Problem]:
    """Return what is wrong with the folder of `run`."""
    folder = run.folder
    if folder is None:
        return
    runtime = run.partition.training_folder
    if not is_shared(folder, run):
        yield not_shared(folder, run, "folder")
    elif runtime is not None and f"{folder.rstrip('/')}/".startswith(f"{runtime.rstrip('/')}/"):
        yield run.wrong(
            "folder",
            Code.JOB_FOLDER,
            "the folder is within that of the training runtime, where root alone writes",
            f"write folder={default_folder(run)!r}, or leave it out",
        )


def check_buckets(run: PlacedRun) -> Iterator[Problem]:
    """Return which places in S3 are none, and which the nodes may not read or write."""
    partition = run.partition
    for location, path in ((run.model, ("model",)), (run.data.place, ("data", "place"))):
        if source_of(location) is ModelSource.S3 and partition.reads is not None:
            readable = (*partition.reads, *(partition.writes or ()))
            yield from _may(location, readable, path, "read", "reads", run)
    written = [(run.checkpoint.mirror, ("checkpoint", "mirror"))]
    written += [(run.export.to, ("export", "to"))] if run.export is not None else []
    for place, path in written:
        if place is not None:
            yield from _may(place, partition.writes, path, "write", "writes", run)


def check_room(run: PlacedRun, plan: RunPlan) -> Iterator[Problem]:
    """Return that the file system has no room for the checkpoints that are kept, and the one being written."""
    room, shape = run.partition.file_system_gib, run.shape
    if room is None or shape is None:
        return
    size = checkpoint_bytes(plan, shape.parameters)
    needed = size * (run.checkpoint.keep + 1)
    if is_unresolved(needed) or needed <= room * GIB:
        return
    keep = int(room * GIB // size) - 1
    yield Problem(
        code=Code.JOB_CHECKPOINT_ROOM,
        message=f"a checkpoint takes an estimated {in_gib(size)}; {run.checkpoint.keep} that are kept and one that is "
        f"being written take {in_gib(needed)}, and the file system has {room} GiB",
        remedy=f"write keep={keep}, or take a larger file system" if keep >= 1 else "take a larger file system",
        path=("checkpoint", "keep"),
        value=run.checkpoint.keep,
    )


def checkpoint_bytes(plan: RunPlan, parameters: int) -> int:
    """Return the estimated bytes of a checkpoint: weights and the optimizer's state, without gradients."""
    state = training_memory().state[plan.precision]
    return parameters * (state.weights + state.optimizer)


def _may(
    location: str, buckets: tuple[str, ...] | None, path: tuple[str, ...], verb: str, key: str, run: PlacedRun
) -> Iterator[Problem]:
    bucket = bucket_and_prefix(location)[0] if location.startswith(_S3) else ""
    if not bucket:
        yield Problem(
            code=Code.JOB_BUCKET,
            message="this is no place in S3",
            remedy="write s3://bucket/prefix",
            path=path,
            value=location,
            allowed="s3://bucket/prefix",
        )
    elif buckets is not None and bucket not in buckets:
        yield Problem(
            code=Code.JOB_BUCKET,
            message=f"the nodes of {run.partition.cluster} may not {verb} this bucket",
            remedy=f"add it to `{key}` of the cluster: `{key}: [s3://{bucket}]`",
            path=path,
            value=location,
            allowed=", ".join(buckets),
        )


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
