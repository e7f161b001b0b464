"""What follows from a wrong value of a SageMaker piece, so that one slip is told once."""

from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode

_Path = tuple[PathPart, ...]
SAGEMAKER_OF_REGION: frozenset[AnyCode] = frozenset({SageMakerCode.TRAINING_IMAGE, SageMakerCode.ENDPOINT_IMAGE_REGION})
"""What cannot be judged in a region that there is not."""
SAGEMAKER_OF_NETWORK: frozenset[AnyCode] = frozenset({SageMakerCode.NETWORK_NEEDED, SageMakerCode.NOTEBOOK_INTERNET})
"""What cannot be judged without a network of the right form."""

_OF_HARDWARE: frozenset[AnyCode] = frozenset(
    {
        SageMakerCode.ENDPOINT_IMAGE,
        SageMakerCode.ENDPOINT_AMI,
        SageMakerCode.ENDPOINT_FIT,
        SageMakerCode.ENDPOINT_VOLUME,
        SageMakerCode.ENDPOINT_NEURON,
    }
)
_OF_WATCHED: frozenset[AnyCode] = frozenset({SageMakerCode.WATCH_METRIC, SageMakerCode.WATCH_NO_CHECKPOINTS})
_BY_KEY: dict[tuple[str, str], frozenset[AnyCode]] = {
    ("endpoints", "model"): frozenset(
        {
            SageMakerCode.ENDPOINT_ISOLATED,
            SageMakerCode.ENDPOINT_NUMBER,
            SageMakerCode.ENDPOINT_FIT,
            Code.CONTRADICTION,
        }
    ),
    ("endpoints", "instance"): _OF_HARDWARE,
    ("endpoints", "image"): frozenset({SageMakerCode.ENDPOINT_IMAGE, SageMakerCode.ENDPOINT_AMI, Code.CONTRADICTION}),
    ("endpoints", "rollout"): frozenset({Code.CONTRADICTION, SageMakerCode.ROLLOUT_STEP}),
    ("training_jobs", "watched"): _OF_WATCHED | {Code.CONTRADICTION},
    ("training_jobs", "tracking"): frozenset({SageMakerCode.TRAINING_TRACKING}),
}
"""By a piece and its key in which something has no right form: what cannot be judged without it."""

_READS_KEY: dict[AnyCode, tuple[str, ...]] = {
    SageMakerCode.ENDPOINT_NUMBER: ("download_time",),
    Code.CONTRADICTION: ("model", "image", "rollout", "watch"),
}
"""Codes that stand for more than what follows, and under which keys they follow."""

_IN_STUDIO: dict[str, tuple[AnyCode, str]] = {
    "sign_in": (SageMakerCode.STUDIO_SIGN_IN, "users"),
    "users": (SageMakerCode.STUDIO_ID, "users"),
    "instances": (Code.CONTRADICTION, "instance"),
    "fsx": (Code.CONTRADICTION, "fsx_directory"),
}


def follows_in_sagemaker(finding: Problem, cause: _Path) -> bool:
    """Return whether `finding` judges a SageMaker piece by what has no right form at `cause`.

    Paths are in the file's keys.
    """
    piece = cause[0] if cause else None
    if piece == "watch":
        return _of_watch(finding, cause)
    if piece == "studio":
        return _of_studio(finding, cause)
    if len(cause) < 3 or finding.path[:2] != cause[:2]:
        return False
    return _judged_without(finding, str(piece), str(cause[2]))


def follows_from_model(finding: Problem, cause: Problem) -> bool:
    """Return whether `finding` takes for a model of the Hub what names no model at all."""
    return cause.code is SageMakerCode.ENDPOINT_MODEL and follows_in_sagemaker(finding, cause.path)


def follows_from_form(finding: Problem, cause: Problem) -> bool:
    """Return whether `finding` misses in one place of the file what `cause` told of another that has no right form."""
    path = cause.path
    if finding.code is SageMakerCode.WATCH_PREFIX and finding.path == ("watch",):
        misspelt = cause.code is Code.UNKNOWN_KEY and ("training_jobs" in cause.remedy or "clusters" in cause.remedy)
        return len(path) == 1 and (misspelt or path[0] in ("training_jobs", "clusters"))
    if path not in (("storage",), ("storage", "fsx")):
        return False
    return (
        finding.code is Code.UNKNOWN_REFERENCE
        and finding.path[:1] == ("training_jobs",)
        and finding.path[4:]
        in (
            (),
            ("fsx",),
        )
    )


def _judged_without(finding: Problem, piece: str, key: str) -> bool:
    if finding.code not in _BY_KEY.get((piece, key), ()):
        return False
    keys = next((keys for code, keys in _READS_KEY.items() if code is finding.code), None)
    return keys is None or finding.path[2:3] in [(each,) for each in keys]


def _of_watch(finding: Problem, cause: _Path) -> bool:
    if finding.path[:1] != ("training_jobs",):
        return False
    if len(cause) == 1:
        return finding.code is Code.CONTRADICTION and finding.path[2:] == ("watch",)
    return cause[1] == "when" and finding.code is SageMakerCode.WATCH_METRIC


def _of_studio(finding: Problem, cause: _Path) -> bool:
    if finding.path[:1] != ("studio",) or len(cause) < 2 or str(cause[1]) not in _IN_STUDIO:
        return False
    code, key = _IN_STUDIO[str(cause[1])]
    if cause[1] == "users" and finding.path[:3] != cause[:3]:
        return False
    return finding.code is code and finding.path[1:2] == (key,)
