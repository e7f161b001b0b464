"""Where a run writes: its folder, room for its checkpoints, and S3."""

from collections.abc import Iterator

from llm_fleet.catalog.model_shapes import training_memory
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.memory import GIB, in_gib
from llm_fleet.rules.inference.model import bucket_and_prefix
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run.plan import RunPlan, default_folder
from llm_fleet.rules.training.run.protocols import RunLike
from llm_fleet.rules.training.run.sources import is_shared, not_shared, source_of

_S3 = "s3://"


def check_folder(run: RunLike) -> Iterator[Problem]:
    """Return what is wrong with the folder of `run`."""
    folder = run.folder
    if folder is None:
        return
    runtime = run.partition.training_folder
    if not is_shared(folder, run):
        yield not_shared(folder, run, "folder")
    elif runtime is not None and f"{folder.rstrip('/')}/".startswith(f"{runtime.rstrip('/')}/"):
        yield Problem(
            code=Code.JOB_FOLDER,
            message="the folder is within that of the training runtime, where root alone writes",
            remedy=f"write folder={default_folder(run)!r}, or leave it out",
            path=("folder",),
            value=folder,
        )


def check_buckets(run: RunLike) -> Iterator[Problem]:
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


def check_room(run: RunLike, plan: RunPlan) -> Iterator[Problem]:
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
    location: str, buckets: tuple[str, ...] | None, path: tuple[str, ...], verb: str, key: str, run: RunLike
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
