"""Where in S3 a data repository is, from either of the two ways to say it."""

from aws_cdk import aws_s3 as s3

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem


def repository_path(
    *, bucket: s3.IBucket | None, prefix: str, data_repository_path: str | None
) -> tuple[str, list[Problem]]:
    """Return the `s3://` path, and what is wrong with the way it was given."""
    if (bucket is None) == (data_repository_path is None):
        both = bucket is not None
        problem = Problem(
            code=Code.DATA_REPOSITORY_PATH,
            path=("data_repository_path",),
            value=data_repository_path,
            message="given twice, by a bucket and by a path" if both else "neither a bucket nor an s3:// path is given",
            remedy="give either bucket (and prefix) or data_repository_path",
        )
        return "", [problem]
    if bucket is None:
        assert data_repository_path is not None
        return data_repository_path, []
    return f"s3://{bucket.bucket_name}/{prefix.lstrip('/')}", []
