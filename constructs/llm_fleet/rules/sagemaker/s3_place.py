"""Places in S3, as SageMaker's requests name them: `s3://bucket/prefix`."""

from llm_fleet.catalog.training_job import training_job_limit
from llm_fleet.rules.any_code import AnyCode
from llm_fleet.rules.buckets import check_bucket_name, check_key_prefix
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved

SCHEME = "s3://"


def bucket_and_key(uri: str) -> tuple[str, str]:
    """Return bucket and key, or prefix, of `uri`, without slashes at the key's ends."""
    bucket, _, key = uri.removeprefix(SCHEME).partition("/")
    return bucket, key.strip("/")


def check_s3_place(uri: str, code: AnyCode, *path: PathPart, what: str) -> list[Problem]:
    """Return a problem at `path` unless `uri` is a place in S3; `what` names it, e.g. `the data's place`.

    In a text that is known in part, what is known is judged.
    """
    fault = _fault(uri)
    if fault is None:
        return []
    return [
        Problem(
            code=code,
            message=f"{what} {fault}",
            remedy="write s3://bucket/prefix",
            path=path,
            value=uri,
            allowed="s3://bucket/prefix",
        )
    ]


def _fault(uri: str) -> str | None:
    if not uri.startswith(SCHEME):
        return None if is_unresolved(uri) else "is no address in S3"
    bucket, key = bucket_and_key(uri)
    if not bucket or (not is_unresolved(bucket) and check_bucket_name(bucket)):
        return f"is in {bucket!r}, which is no name of a bucket" if bucket else "names no bucket"
    if is_unresolved(key):
        return None
    faults = check_key_prefix(key, SageMakerCode.TRAINING_PLACE) if key else []
    if faults:
        return f"is wrong: {faults[0].message}"
    limit = training_job_limit("OutputDataConfig.S3OutputPath")
    return None if limit.holds(len(uri)) else f"is longer than {limit.maximum} characters"
