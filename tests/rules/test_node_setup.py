"""Rules of node settings: buckets and the Neuron SDK."""

from typing import Any

import pytest

from llm_fleet.rules.codes import Code
from llm_fleet.rules.node_setup import check_neuron_release, check_s3_mounts
from llm_fleet.spec.cluster import S3Mount


def mount(**changed: Any) -> S3Mount:
    given: dict[str, Any] = {"bucket": "s3://my-corpus", "mount_path": "/s3/data"}
    return S3Mount(**given | changed)


def found(*mounts: S3Mount) -> list[tuple[str, str, str]]:
    problems = check_s3_mounts(mounts, taken_paths=["/fsx", "/home"], group_names=["head", "workers"])
    return [(problem.code.value, problem.where, problem.remedy) for problem in problems]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"prefix": "a"},
        {"prefix": "a/b/"},
        {"groups": ["workers"]},
        {"mount_path": "/data"},
        {"mount_path": "/fsx2"},
        {"prefix": "${Token[TOKEN.1]}", "mount_path": "${Token[TOKEN.2]}"},
    ],
)
def test_valid_mounts_pass(changed: dict[str, Any]) -> None:
    assert found(mount(**changed)) == []


@pytest.mark.parametrize(
    ("changed", "code", "where", "remedy"),
    [
        ({"mount_path": "data"}, "LF536", "[0].mount_path", "absolute"),
        ({"mount_path": "/"}, "LF536", "[0].mount_path", "absolute"),
        ({"mount_path": "/opt/slurm/x"}, "LF537", "[0].mount_path", "elsewhere"),
        ({"mount_path": "/fsx"}, "LF418", "[0].mount_path", "next to each other"),
        ({"mount_path": "/fsx/s3"}, "LF418", "[0].mount_path", "next to each other"),
        ({"prefix": ""}, "LF417", "[0].prefix", "whole bucket"),
        ({"prefix": "/"}, "LF417", "[0].prefix", "whole bucket"),
        ({"prefix": "/a"}, "LF417", "[0].prefix", "`a`"),
        ({"prefix": "a//b"}, "LF417", "[0].prefix", "`a/b`"),
        ({"prefix": "a/../b"}, "LF417", "[0].prefix", "`a/b`"),
        ({"prefix": "s3://bucket/a"}, "LF417", "[0].prefix", "`a`"),
        ({"prefix": "a*"}, "LF417", "[0].prefix", "`a`"),
        ({"prefix": "team-?/x"}, "LF417", "[0].prefix", "`team-/x`"),
        ({"prefix": "*"}, "LF417", "[0].prefix", "whole bucket"),
        ({"prefix": "${aws:username}"}, "LF417", "[0].prefix", "`{aws:username}`"),
        ({"groups": []}, "LF417", "[0].groups", "remove `groups`"),
        ({"bucket": "s3://corpus/folder"}, "LF340", "[0].bucket", "the whole bucket"),
        ({"groups": ["worker"]}, "LF417", "[0].groups[0]", "`workers`"),
        ({"groups": ["zzz"]}, "LF417", "[0].groups[0]", "one of its groups"),
    ],
)
def test_invalid_mounts_are_reported_with_a_remedy(changed: dict[str, Any], code: str, where: str, remedy: str) -> None:
    ((found_code, found_where, found_remedy),) = found(mount(**changed))
    assert (found_code, found_where) == (code, where)
    assert remedy in found_remedy


def test_mount_paths_must_not_overlap() -> None:
    assert [each[:2] for each in found(mount(), mount(mount_path="/s3/data/more"))] == [("LF418", "[1].mount_path")]
    assert found(mount(), mount(mount_path="/s3/more")) == []


@pytest.mark.parametrize(
    ("name", "families"), [("2.28.1", ["trn1"]), ("2.33.0", ["trn2", "trn1n"]), ("2.20.0", ["trn1"])]
)
def test_a_supported_release_passes(name: str, families: list[str]) -> None:
    assert check_neuron_release(name, families) == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("2.28", "write `2.28.1`"),
        ("v2.31", "write `2.31.1`"),
        ("2.28.9", "write `2.28.1`"),
        ("2,28.1", "write `2.28.1`"),
        ("newest", "write one of the allowed releases"),
        ("", "write one of the allowed releases"),
    ],
)
def test_an_unknown_release_gets_a_suggestion(name: str, remedy: str) -> None:
    (problem,) = check_neuron_release(name, ["trn1"])
    assert problem.code is Code.NEURON_RELEASE_UNKNOWN
    assert problem.remedy == remedy
    assert "2.28.1" in problem.allowed


def test_a_release_without_pytorch_for_the_family_is_reported() -> None:
    (problem,) = check_neuron_release("2.32.0", ["trn1", "trn2"])
    assert problem.code is Code.NEURON_RELEASE_FAMILY
    assert problem.message == "Neuron 2.32.0 does not support trn1"
    assert problem.remedy == "write `2.33.0`"


def test_a_release_that_is_older_than_the_family_is_reported() -> None:
    (problem,) = check_neuron_release("2.20.0", ["trn2"])
    assert problem.remedy == "write `2.24.1`"


def test_a_family_without_any_release_is_reported() -> None:
    (problem,) = check_neuron_release("2.33.0", ["trn9"])
    assert problem.code is Code.NEURON_RELEASE_FAMILY
    assert problem.remedy == "remove trn9"


def test_a_release_requires_neuron_devices() -> None:
    (problem,) = check_neuron_release("2.28.1", [])
    assert problem.code is Code.NEURON_WITHOUT_DEVICES


def test_a_token_is_not_checked() -> None:
    assert check_neuron_release("${Token[TOKEN.12]}", []) == []
