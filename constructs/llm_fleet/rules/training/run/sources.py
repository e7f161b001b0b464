"""Where the model and the data of a run come from, and how large the model is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.model_shapes import is_gated
from llm_fleet.rules.codes import Code
from llm_fleet.rules.inference.model import check_model
from llm_fleet.rules.inference.model_shape import check_shape
from llm_fleet.rules.inference.protocols import ShapeLike
from llm_fleet.rules.inference.terms import ModelSource
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.run.protocols import RunLike, TrainedShapeLike
from llm_fleet.rules.training.run.shape import check_trained

_S3 = "s3://"
_NUMBERS = ("parameters", "layers", "attention_heads", "kv_heads", "head_dim")
_WIDTHS = ("hidden", "intermediate", "vocabulary", "max_sequence")
_PLACES = "an id of the Hub (owner/name), s3://bucket/prefix, or a folder on shared storage"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A place as `check_model` asks of it (`ModelLike`)."""

    location: str
    revision: str | None = None
    token_secret_arn: str | None = None
    compiled: bool = False
    shape: ShapeLike | None = None
    served_name: str | None = None

    @property
    def source(self) -> ModelSource:
        return source_of(self.location)


def source_of(location: str) -> ModelSource:
    """Return where `location` is: a path is on shared storage, what has a scheme in S3, and the rest on the Hub."""
    if "://" in location:
        return ModelSource.S3
    return ModelSource.IMAGE if location.startswith("/") else ModelSource.HUB


def check_sources(run: RunLike) -> list[Problem]:
    """Return what is wrong with the places of model and data, and with the revision."""
    found = [
        *_place(run.model, "model", revision=run.revision),
        *_place(run.data.place, "data", "place"),
    ]
    return [*found, *_gated(run), *_folders(run)]


def check_size(run: RunLike) -> list[Problem]:
    """Return that nobody told how large the model is, or numbers that no model has."""
    shape = run.shape
    other = check_trained(run.model)
    if other:
        return [replace(problem, path=("model",), value=run.model) for problem in other]
    if shape is None:
        return [
            Problem(
                code=Code.MODEL_SHAPE_UNKNOWN,
                message="nobody told how large the model is, and its name tells nothing, so that nobody knows whether "
                "it fits",
                remedy="add shape=TrainedShape(…) with the numbers of its config.json",
                path=("model",),
                value=run.model,
            )
        ]
    missing = list(_missing(shape))
    return [problem.under("shape") for problem in missing or (*check_shape(shape), *_widths(shape))]


def _missing(shape: TrainedShapeLike) -> Iterator[Problem]:
    for name in (*_NUMBERS, *_WIDTHS[:-1]):
        if getattr(shape, name) is None:
            yield Problem(
                code=Code.MODEL_SHAPE,
                message=f"nobody told the {name.replace('_', ' ')}",
                remedy="write that of its config.json",
                path=(name,),
                allowed="1 or more",
            )


def _widths(shape: TrainedShapeLike) -> Iterator[Problem]:
    for name in _WIDTHS:
        what = name.replace("_", " ")
        yield from check_number(getattr(shape, name), Limit(minimum=1), Code.MODEL_SHAPE, name, what=what)


def _place(location: str, *path: str, revision: str | None = None) -> Iterator[Problem]:
    for problem in check_model(_Source(location=location, revision=revision)):
        if problem.path == ("location",):
            yield replace(problem, code=Code.JOB_PLACE, path=path, allowed=_PLACES)
        elif problem.path == ("revision",):
            yield problem


def _gated(run: RunLike) -> Iterator[Problem]:
    if source_of(run.model) is not ModelSource.HUB or not is_gated(run.model):
        return
    if run.partition.hub_token_secret_arn is None and run.partition.training_folder is not None:
        yield Problem(
            code=Code.JOB_GATED,
            message=f"the Hub gives {run.model} only to who has accepted its licence, and no token is told",
            remedy="accept the licence on the model's page, put a token of that account into Secrets Manager, and tell "
            f"the training runtime of {run.partition.cluster} the ARN: `hub_token_secret`",
            path=("model",),
            value=run.model,
        )


def _folders(run: RunLike) -> Iterator[Problem]:
    for location, path in ((run.model, ("model",)), (run.data.place, ("data", "place"))):
        if source_of(location) is ModelSource.IMAGE and not is_shared(location, run):
            yield not_shared(location, run, *path)


def is_shared(folder: str, run: RunLike) -> bool:
    """Return whether `folder` lies below a file system that all nodes share."""
    return any(folder.startswith(f"{mount.rstrip('/')}/") for mount in run.partition.shared_mounts)


def not_shared(folder: str, run: RunLike, *path: str) -> Problem:
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
