"""Rules of buckets."""

import pytest

from llm_fleet.rules.buckets import check_bucket, check_bucket_name
from llm_fleet.rules.codes import Code
from llm_fleet.rules.file_systems import check_log_group_name
from llm_fleet.spec.storage import BucketSpec


@pytest.mark.parametrize("name", [None, "corpus", "a-b", "0ab", "a" * 63, "${Token[TOKEN.3]}"])
def test_valid_names_have_no_problems(name: str | None):
    assert check_bucket_name(name) == []


@pytest.mark.parametrize(
    "name",
    [
        "ab",
        "a" * 64,
        "My-Bucket",
        "my_bucket",
        "-ab",
        "ab-",
        "10.0.0.1",
        "a..b",
        "my.bucket",
        "xn--ab",
        "ab-s3alias",
        "",
    ],
)
def test_invalid_names_are_reported(name: str):
    (problem,) = check_bucket_name(name)
    assert (problem.code, problem.path, problem.value) == (Code.BUCKET_NAME, ("bucket_name",), name)


def test_days_of_a_lifecycle_must_be_at_least_one():
    assert check_bucket(BucketSpec(noncurrent_version_days=1, incomplete_upload_days=1)) == []
    problems = check_bucket(BucketSpec(noncurrent_version_days=0, incomplete_upload_days=-7))
    assert [problem.path for problem in problems] == [("noncurrent_version_days",), ("incomplete_upload_days",)]
    assert {problem.code for problem in problems} == {Code.BUCKET_LIFECYCLE}


def test_a_log_group_of_fsx_requires_its_prefix():
    assert check_log_group_name("/aws/fsx/events") == []
    (problem,) = check_log_group_name("/fleet/events")
    assert (problem.code, problem.remedy) == (Code.FILE_SYSTEM_LOG, "use the name /aws/fsx/fleet/events")
