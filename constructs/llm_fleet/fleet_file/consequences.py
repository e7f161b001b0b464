"""Tells mistakes from what follows from them, so that one slip is told once."""

from collections.abc import Sequence

from llm_fleet.fleet_file.check_service import follows_in_service
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import SageMakerCode
from llm_fleet.rules.problem import AnyCode, PathPart, Problem

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


_DECIDED_BY: dict[str, tuple[str, ...]] = {
    "role": ("partition",),
    "count": ("min_count",),
    "max": ("min",),
    "capacity": ("reservation", "allocation", "min"),
    "type": ("types",),
    "types": ("type",),
    "ebs": ("ebs_key",),
    "mount_fsx": ("az",),
    "mount_home": ("az",),
    "provisioning": ("slurm_config", "accounting"),
    "bucket": ("prefix",),
    "size": ("efa",),
    "throughput": ("efa",),
    "version": ("efa", "metadata_iops"),
}
"""By a key of a mapping: its neighbours that cannot be judged without a right value there."""

_DECIDES_FILE_SYSTEM = frozenset({"deployment", "storage"})
"""Keys of a file system without which nothing else of it can be judged."""

_OF_REGION = (
    frozenset({Code.TRAINING_PLAN_ELSEWHERE, Code.ZONE_REGION, Code.PC_REGION, Code.FRONT_CERTIFICATE_REGION})
    | SAGEMAKER_OF_REGION
)
_OF_ZONES = frozenset(
    {
        Code.ZONE_WITHOUT_SUBNET,
        Code.MOUNT_ZONE,
        Code.TRAINING_PLAN_ZONE,
        Code.SUBNET_TOO_SMALL,
        Code.INTERFACE_QUOTA,
        Code.FRONT_ZONES,
    }
)
_OF_NETWORK = (
    frozenset({Code.MOUNT_WITHOUT_VPC, Code.OVERRIDE_WITHOUT_VPC, Code.PARALLELCLUSTER_NETWORK, Code.SERVICE_NETWORK})
    | _OF_ZONES
    | SAGEMAKER_OF_NETWORK
)
_OF_HEAD_NODE = frozenset({Code.PC_ARCHITECTURE, Code.PC_HEAD_MEMORY})
_OF_ACCOUNTING = frozenset({Code.ACCOUNTING_PLACE, Code.ACCOUNTING_SECRET, Code.ACCOUNTING_MUNGE_KEY})
_OF_PLACE = frozenset({Code.SUBNET_TOO_SMALL, Code.INTERFACE_QUOTA})
_WRONG_ZONE = frozenset({Code.ZONE_ID, Code.ZONE_REGION, Code.ZONE_WITHOUT_SUBNET})
_ZONES = ("az", "azs", "vpc")
_ELSEWHERE = frozenset({"clusters", "storage", "services"})
_OF_JOB_SPREAD = frozenset(
    {
        Code.JOB_DEGREE,
        Code.JOB_TENSOR_PARALLEL,
        Code.JOB_MODEL_DIVISION,
        Code.JOB_WORLD_SIZE,
        Code.JOB_BATCH,
        Code.JOB_SEQUENCE,
        Code.JOB_SHARD_DEGREE,
        Code.JOB_MEMORY,
        Code.JOB_SMP,
        Code.JOB_CHECKPOINT_ROOM,
        Code.MODEL_SHAPE_UNKNOWN,
        Code.SMP_WORLD_SIZE,
        Code.SMP_CONTEXT,
    }
)


def _follows_in_job(finding: Problem, cause: tuple[PathPart, ...]) -> bool:
    """Return whether `finding` judges a job by what has no right form at `cause`, a path in the file's keys."""
    if finding.path[:1] != ("jobs",):
        return False
    if cause[:1] == ("jobs",):
        from llm_fleet.rules.training.run import SPREAD  # Only a fleet with jobs has its rules imported.

        same = finding.path[:2] == cause[:2] and cause[2:3] != () and cause[2] in SPREAD | {"config"}
        return same and finding.code in _OF_JOB_SPREAD
    return bool(cause) and cause[0] in _ELSEWHERE


def _follows_from_cluster(finding: Problem, cause: Problem) -> bool:
    """Return whether a job is on instances that its cluster cannot have, which is told there."""
    of_job = finding.path[:1] == ("jobs",) and finding.code in (Code.JOB_PARTITION, Code.JOB_BACKEND)
    return of_job and cause.path[:1] == ("clusters",) and cause.path[-1] in ("type", "types")


_IN_A_PIECE = (follows_in_service, _follows_in_job, follows_in_sagemaker)


def without_consequences(form: Sequence[Problem], found: Sequence[Problem]) -> list[Problem]:
    """Return `found`, what rules found, without what follows from the rest of it or from `form`, wrong values.

    Paths are in the file's keys.
    """
    return [
        finding
        for finding in found
        if not any(_follows_from_form(finding, cause) for cause in form)
        and not any(finding is not cause and _follows(finding, cause) for cause in (*form, *found))
    ]


def _follows_from_form(finding: Problem, cause: Problem) -> bool:
    """Whether `finding` judges what stands where `cause` found no value to judge."""
    if cause.code is Code.DUPLICATE_KEY:
        return False  # The first value is the user's own.
    path = cause.path
    while path and isinstance(path[-1], int):  # A wrong item leaves its list incomplete.
        path = path[:-1]
    if any(_within(finding.path, (*path[:-1], key)) for key in _DECIDED_BY.get(str(path[-1] if path else ""), ())):
        return True
    if path[:1] == ("storage",) and len(path) == 3 and path[2] in _DECIDES_FILE_SYSTEM:
        return _within(finding.path, path[:2]) or finding.code in _OF_PLACE
    if finding.code in _OF_ACCOUNTING and cause.code is Code.UNKNOWN_KEY and "accounting" in path:
        return _within(finding.path, path[:-1])  # It may have been meant to name the database.
    if finding.code is Code.PC_INSTANCE_TYPE and finding.value is None and cause.code is Code.UNKNOWN_KEY:
        return finding.path[:-1] == path[:-1] and "type" in cause.remedy  # It was meant to name the type.
    if path == ("network",):
        return finding.code in _OF_NETWORK
    if path[2:3] == ("head",) and finding.path[:2] == path[:2]:
        return finding.code in _OF_HEAD_NODE
    if path[:1] == ("network",) and cause.code is Code.UNKNOWN_KEY:
        return finding.code in _OF_ZONES  # It may have been meant to name the AZs.
    of_buckets = finding.code is Code.UNKNOWN_REFERENCE and _within(("storage", "buckets"), path[:2])
    return of_buckets or follows_from_form(finding, cause) or any(follows(finding, path) for follows in _IN_A_PIECE)


def _follows(finding: Problem, cause: Problem) -> bool:
    path = cause.path
    if _follows_from_cluster(finding, cause) or follows_from_model(finding, cause):
        return True
    if path == ("region",):
        return finding.code in _OF_REGION
    if path[:1] == ("network",) and (len(path) == 1 or path[1] in _ZONES) and cause.code not in _OF_PLACE:
        return finding.code in _OF_ZONES
    if cause.code is Code.ZONE_REGION and finding.path == path:
        return finding.code is Code.ZONE_WITHOUT_SUBNET
    if cause.code in _WRONG_ZONE and path[-1:] == ("az",):
        return finding.code in _OF_ZONES - {Code.ZONE_WITHOUT_SUBNET} and _stands_by(finding.path, path)
    return path[:1] == ("storage",) and finding.code in _OF_PLACE


def _stands_by(finding: tuple[PathPart, ...], zone: tuple[PathPart, ...]) -> bool:
    """Whether something stands where `zone` says: a file system decides for all clusters, a cluster for its groups."""
    return zone[0] == "storage" or finding[: len(zone) - 1] == zone[:-1] or finding[:1] == ("network",)


def _within(path: tuple[PathPart, ...], outer: tuple[PathPart, ...]) -> bool:
    return path[: len(outer)] == outer
