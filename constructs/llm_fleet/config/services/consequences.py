"""What follows from a wrong value of a service, so that one slip is told once."""

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem

_OF_FIT = frozenset({Code.MODEL_MEMORY, Code.MODEL_HOST_MEMORY})
_OF_INSTANCE = frozenset({Code.SERVER_FAMILY, Code.TENSOR_PARALLEL}) | _OF_FIT
_OF_PART = {
    "model": frozenset({Code.MODEL_SHAPE_UNKNOWN, Code.MISSING_KEY}) | _OF_FIT,
    "server": frozenset({Code.SERVER_IMAGE}) | _OF_FIT,
    "instance": _OF_INSTANCE,
    "front": frozenset({Code.FRONT_PLAIN_HTTP, Code.FRONT_PUBLIC_CIDRS, Code.FRONT_JWT}),
    "max": frozenset({Code.SCALING_FIXED}),
    "min": frozenset({Code.SCALING_FIXED}),
    "count": frozenset({Code.SCALING_FIXED}),
}
"""By a key of a service in which something has no right form: what cannot be judged without it."""


def follows_in_service(finding: Problem, cause: tuple[PathPart, ...]) -> bool:
    """Return whether `finding` judges a service by what has no right form at `cause`, a path in the file's keys."""
    if cause[:1] != ("services",) or len(cause) < 3 or finding.path[:2] != cause[:2]:
        return False
    return finding.code in _OF_PART.get(str(cause[2]), ())
