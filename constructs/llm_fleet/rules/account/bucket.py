"""Whether buckets that a fleet names are there, and where they must be."""

from llm_fleet.rules.day_two.check_codes import CheckCode
from llm_fleet.rules.problem import PathPart, Problem


def check_bucket(
    name: str,
    *,
    exists: bool,
    bucket_region: str | None,
    region: str,
    used_for: str,
    same_region: bool,
    path: tuple[PathPart, ...] = (),
) -> list[Problem]:
    """Return what is wrong with a bucket that is there already, or should be.

    `same_region`: whether what it is used for works within one region only, e.g. a data repository of FSx.
    """
    if not exists:
        return [_missing(name, region, used_for, path)]
    if same_region and bucket_region not in (None, region):
        return [_elsewhere(name, str(bucket_region), region, used_for, path)]
    return []


def check_new_bucket(name: str, *, exists: bool, path: tuple[PathPart, ...] = ()) -> list[Problem]:
    """Return a problem when a bucket that is to be made has a name that is taken, by whomever: names are global."""
    if not exists:
        return []
    return [
        Problem(
            code=CheckCode.BUCKET_TAKEN,
            path=path,
            message=f"a bucket {name} exists already, in this account or another, and no second one can be made",
            value=name,
            remedy="write another `name`, or none: CloudFormation makes one up that cannot clash. A bucket that is "
            "yours is named where it is used, as s3://…",
        )
    ]


def _missing(name: str, region: str, used_for: str, path: tuple[PathPart, ...]) -> Problem:
    return Problem(
        code=CheckCode.BUCKET_MISSING,
        path=path,
        message=f"there is no bucket {name}, which {used_for}",
        value=name,
        remedy=f"see that the name is right, or make it with `aws s3api create-bucket --bucket {name} --region {region}"
        + (f" --create-bucket-configuration LocationConstraint={region}`" if region != "us-east-1" else "`"),
    )


def _elsewhere(name: str, real: str, region: str, used_for: str, path: tuple[PathPart, ...]) -> Problem:
    return Problem(
        code=CheckCode.BUCKET_REGION,
        path=path,
        message=f"the bucket {name} is in {real}, and what {used_for} must be in {region}",
        value=real,
        allowed=region,
        remedy=f"name a bucket in {region}, or copy with `aws s3 sync s3://{name} s3://<bucket in {region}>`",
    )
