"""What a run reads and writes: model, data, checkpoints."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.model_shapes import is_gated, known_model, max_sequence, trained_model_types, training_memory
from llm_fleet.rules.buckets import bucket_and_prefix
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.fit import GIB, in_gib
from llm_fleet.rules.inference.model import check_model, check_shape
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run_plan import RunPlan, default_folder
from llm_fleet.rules.values import check_number
from llm_fleet.spec.jobs import PlacedRun
from llm_fleet.spec.model_shape import ModelShape, TrainedShape, shape_of_config
from llm_fleet.spec.served_model import Model, ModelSource


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
    if needed <= room * GIB:
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
