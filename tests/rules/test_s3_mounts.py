"""S3 mounts have places and prefixes that nodes can have, and groups that there are."""

from dataclasses import dataclass
from typing import Any

import pytest

from llm_fleet.rules.s3_mounts import check_s3_mounts


@dataclass(frozen=True, kw_only=True)
class Mount:
    prefix: str | None = None
    mount_path: str = "/s3/data"
    groups: tuple[str, ...] | None = None


def found(*mounts: Mount) -> list[tuple[str, str, str]]:
    problems = check_s3_mounts(mounts, taken_paths=["/fsx", "/home"], group_names=["head", "workers"])
    return [(problem.code.value, problem.where, problem.remedy) for problem in problems]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"prefix": "a"},
        {"prefix": "a/b/"},
        {"groups": ("workers",)},
        {"mount_path": "/data"},
        {"mount_path": "/fsx2"},
        {"prefix": "${Token[TOKEN.1]}", "mount_path": "${Token[TOKEN.2]}"},
    ],
)
def test_good_mounts_pass(changed: dict[str, Any]) -> None:
    assert found(Mount(**changed)) == []


@pytest.mark.parametrize(
    ("changed", "code", "where", "remedy"),
    [
        ({"mount_path": "data"}, "LF536", "[0].mount_path", "absolute"),
        ({"mount_path": "/"}, "LF536", "[0].mount_path", "absolute"),
        ({"mount_path": "/opt/slurm/x"}, "LF537", "[0].mount_path", "elsewhere"),
        ({"mount_path": "/fsx"}, "LF418", "[0].mount_path", "side by side"),
        ({"mount_path": "/fsx/s3"}, "LF418", "[0].mount_path", "side by side"),
        ({"prefix": ""}, "LF417", "[0].prefix", "whole bucket"),
        ({"prefix": "/"}, "LF417", "[0].prefix", "whole bucket"),
        ({"prefix": "/a"}, "LF417", "[0].prefix", "'a'"),
        ({"prefix": "a//b"}, "LF417", "[0].prefix", "'a/b'"),
        ({"prefix": "a/../b"}, "LF417", "[0].prefix", "'a/b'"),
        ({"prefix": "s3://bucket/a"}, "LF417", "[0].prefix", "'a'"),
        ({"prefix": "a*"}, "LF417", "[0].prefix", "'a'"),
        ({"prefix": "team-?/x"}, "LF417", "[0].prefix", "'team-/x'"),
        ({"prefix": "*"}, "LF417", "[0].prefix", "whole bucket"),
        ({"prefix": "${aws:username}"}, "LF417", "[0].prefix", "'{aws:username}'"),
        ({"groups": ()}, "LF417", "[0].groups", "leave `groups` out"),
        ({"groups": "head"}, "LF417", "[0].groups", "brackets"),
        ({"groups": ("worker",)}, "LF417", "[0].groups[0]", "'workers'"),
        ({"groups": ("zzz",)}, "LF417", "[0].groups[0]", "one of its groups"),
    ],
)
def test_bad_mounts_are_told_with_what_to_write(changed: dict[str, Any], code: str, where: str, remedy: str) -> None:
    ((found_code, found_where, found_remedy),) = found(Mount(**changed))
    assert (found_code, found_where) == (code, where)
    assert remedy in found_remedy


def test_mounts_keep_clear_of_each_other() -> None:
    assert [each[:2] for each in found(Mount(), Mount(mount_path="/s3/data/more"))] == [("LF418", "[1].mount_path")]
    assert found(Mount(), Mount(mount_path="/s3/more")) == []
