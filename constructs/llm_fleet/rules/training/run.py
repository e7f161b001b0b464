"""Rules of a training run: its values, and the locations of model and data."""

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
    """Return the size of the model whose name is the last part of `location`; `None` for an unknown name.

    `location` is `meta-llama/Llama-2-7b-hf`, `s3://bucket/models/tanuki-8b` or a path.
    """
    name = location.rstrip("/").rsplit("/", 1)[-1]
    model = known_model(name)
    if model is None:
        return None
    found, _ = trained_shape_of_config({"max_position_embeddings": max_sequence(name), **model.config})
    return found


def trained_shape_of_config(config: Mapping[str, Any]) -> tuple[TrainedShape | None, list[Problem]]:
    """Return the model size from a `config.json`, or its problems. GPT-J has other keys and is not supported."""
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
    """Return a problem when the model at `location` is known, and of a type that cannot be trained."""
    model = known_model(location.rstrip("/").rsplit("/", 1)[-1])
    kind = None if model is None else model.config["model_type"]
    return [] if kind is None or kind in trained_model_types() else [_not_trained(kind)]


def _not_trained(kind: str) -> Problem:
    return Problem(
        code=Code.MODEL_CONFIG,
        message=f"the training program does not support the model_type {kind!r}",
        remedy="use a model of one of the allowed types, such as Llama",
        allowed=", ".join(trained_model_types()),
    )


_S3 = "s3://"
_WIDTHS = ("hidden", "intermediate", "vocabulary", "max_sequence")
_PLACES = "a Hugging Face Hub id (owner/name), s3://bucket/prefix, or a folder on shared storage"


def source_of(location: str) -> ModelSource:
    """Return where `location` is: paths are on shared storage, URIs in S3, and the rest on the Hub."""
    if "://" in location:
        return ModelSource.S3
    return ModelSource.IMAGE if location.startswith("/") else ModelSource.HUB


def check_sources(run: PlacedRun) -> list[Problem]:
    """Return what is wrong with the locations of model and data, and with the revision."""
    found = [
        *_place(run.model, "model", revision=run.revision),
        *_place(run.data.place, "data", "place"),
    ]
    return [*found, *_gated(run), *_folders(run)]


def check_size(run: PlacedRun) -> list[Problem]:
    """Return a problem when the size of the model is unknown, or has impossible numbers."""
    shape = run.shape
    other = check_trained(run.model)
    if other:
        return [replace(problem, path=("model",), value=run.model) for problem in other]
    if shape is None:
        return [
            run.wrong(
                "model",
                Code.MODEL_SHAPE_UNKNOWN,
                "the size of the model is unknown, so llm-fleet cannot check whether it fits the instances",
                "add shape=TrainedShape(…) with the numbers from the model's config.json",
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
    values: dict[str, Any] = {place: location, "revision": revision, "compiled": False}
    model = Model.model_construct(**values)
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
            f"{run.model} is a gated model: the Hugging Face Hub requires an access token, and none is set",
            "accept the license on the model's page, store an access token of that account in Secrets Manager, and set "
            f"`hub_token_secret` in the training runtime of {run.partition.cluster} to the secret's ARN",
        )


def _folders(run: PlacedRun) -> Iterator[Problem]:
    for location, path in ((run.model, ("model",)), (run.data.place, ("data", "place"))):
        if source_of(location) is ModelSource.IMAGE and not is_shared(location, run):
            yield not_shared(location, run, *path)


def is_shared(folder: str, run: PlacedRun) -> bool:
    """Return whether `folder` is below the mount point of a file system that all nodes share."""
    return any(folder.startswith(f"{mount.rstrip('/')}/") for mount in run.partition.shared_mounts)


def not_shared(folder: str, run: PlacedRun, *path: str) -> Problem:
    """Return the problem that `folder` is not on shared storage."""
    mounts = run.partition.shared_mounts
    return Problem(
        code=Code.JOB_FOLDER,
        message="the folder is not on a file system that all nodes of the job mount",
        remedy=f"write a folder below {' or '.join(mounts)}" if mounts else "add a file system to the cluster",
        path=path,
        value=folder,
        allowed=", ".join(f"{mount.rstrip('/')}/…" for mount in mounts),
    )


def check_folder(run: PlacedRun) -> Iterator[Problem]:
    """Return a problem when the folder of `run` is not shared, or not writable."""
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
            "the folder is inside the folder of the training runtime, where only root can write",
            f"write folder={default_folder(run)!r}, or remove it",
        )


def check_buckets(run: PlacedRun) -> Iterator[Problem]:
    """Return a problem for each invalid S3 URI, and for each bucket that the nodes may not read or write."""
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
    """Return a problem when the file system is too small for the kept checkpoints and the one being written."""
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
        message=f"the file system of {room} GiB is too small for {run.checkpoint.keep} kept checkpoints and one being "
        f"written: they need an estimated {in_gib(needed)}, {in_gib(size)} each",
        remedy=f"write keep={keep}, or use a larger file system" if keep >= 1 else "use a larger file system",
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
            message="this is not an S3 URI",
            remedy="write s3://bucket/prefix",
            path=path,
            value=location,
            allowed="s3://bucket/prefix",
        )
    elif buckets is not None and bucket not in buckets:
        yield Problem(
            code=Code.JOB_BUCKET,
            message=f"the nodes of {run.partition.cluster} may not {verb} this bucket",
            remedy=f"add the bucket to `{key}` of the cluster: `{key}: [s3://{bucket}]`",
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
"""Attributes that determine how a run is spread: the rules of that run only when all are right."""


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
"""The error codes of values that must be known at synth and are not numbers, by class and attribute."""


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
            message="this is a CDK token, and batch files are written before it is resolved at deployment",
            remedy="write the value itself",
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
    """Return a problem unless `name`, of folders and Slurm jobs, has 1 to 63 letters, digits and hyphens."""
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
        yield _wrong("`warmup_steps` must be at most `steps`", f"write {run.steps} or less", "warmup_steps", run)
    if _known(run.learning_rate) and not 0 < run.learning_rate < 1:
        yield _wrong("`learning_rate` must be between 0 and 1", "write e.g. 0.0003", "learning_rate", run)
    if _known(run.weight_decay) and not 0 <= run.weight_decay < 1:
        yield _wrong("`weight_decay` must be at least 0 and below 1", "write e.g. 0.1", "weight_decay", run)


def _known(*values: object) -> bool:
    """Return whether none is a CDK token: another rule reports those."""
    return not any(map(is_unresolved, values))


def _check(value: int | None, least: int, *path: str) -> list[Problem]:
    return check_number(value, Limit(minimum=least), Code.JOB_NUMBER, *path, what=path[-1].replace("_", " "))


def _wrong(message: str, remedy: str, name: str, run: PlacedRun) -> Problem:
    return Problem(code=Code.JOB_NUMBER, message=message, remedy=remedy, path=(name,), value=getattr(run, name))


def _form(wanted: str, type_: type, example: str, *, optional: bool = False) -> Form:
    remedy = f"write {example}{', or remove it' if optional else ''}"
    return Form(wanted=wanted, types=(type_,), code=Code.JOB_PARTITION, remedy=remedy, optional=optional)


_PARTITION: Mapping[str, Form] = {
    "cluster": _form("text", str, "the cluster's name in quotes"),
    "name": _form("text", str, "the partition's name in quotes"),
    "instance_type": _form("text", str, "EC2's name, e.g. `trn1.32xlarge`"),
    "nodes": _form("a whole number", int, "4"),
    "processes": _form("a whole number", int, "8", optional=True),
    "training_folder": _form("text", str, "a path in quotes, e.g. `/fsx/llm-fleet`", optional=True),
    "environments": _form("a tuple of strings", tuple, "('neuron',)", optional=True),
    "exports_for": _form("a tuple of strings", tuple, "('tgi',)", optional=True),
    "shared_mounts": _form("a tuple of strings", tuple, "('/fsx',)"),
    "file_system_gib": _form("a whole number", int, "4800", optional=True),
    "hub_token_secret_arn": _form("text", str, "'arn:aws:secretsmanager:…'", optional=True),
    "reads": _form("a tuple of strings", tuple, "('my-bucket',)", optional=True),
    "writes": _form("a tuple of strings", tuple, "('my-bucket',)", optional=True),
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
"""Attributes that must be known at synth; the others may be CDK tokens."""


def check_partition(partition: TrainingPartition) -> list[Problem]:
    """Return what is wrong with the values of `partition`, each by itself; `check_place` checks the run on it."""
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
                    message=f"this must be text, not {type(value).__name__}",
                    remedy=_PARTITION[name].remedy,
                    path=(name, index),
                    value=value,
                    allowed="strings",
                )


def _numbers(partition: TrainingPartition, wrong: frozenset[str]) -> Iterator[Problem]:
    for name, most in _COUNTED.items():
        if name not in wrong:
            limit = Limit(minimum=1, maximum=None if most is None else most())
            yield from check_number(getattr(partition, name), limit, Code.JOB_PARTITION, name, what=f"`{name}`")
    nodes = partition.nodes
    if "nodes" not in wrong and not is_unresolved(nodes) and nodes > most_nodes():
        yield Problem(
            code=Code.JOB_PARTITION,
            message=f"`nodes` of the partition {partition.name} must be at most {most_nodes()}, llm-fleet's own limit",
            remedy="write the number of nodes that the partition has",
            path=("nodes",),
            value=nodes,
            allowed=f"1 to {most_nodes()}",
        )
