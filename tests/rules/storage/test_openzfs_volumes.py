"""Volumes beneath the root volume of an OpenZFS file system."""

import pytest

from llm_fleet.catalog.openzfs import open_zfs_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.openzfs_volumes import check_volume
from llm_fleet.rules.problem import Problem


def problems(name: str = "apps", quota_gib: int | None = None, capacity_gib: int = 512) -> list[Problem]:
    return check_volume(name=name, quota_gib=quota_gib, capacity_gib=capacity_gib, taken={"home": "it is the home"})


@pytest.mark.parametrize("name", ["apps", "A", "_x", "data-v1.2:b", "n" * open_zfs_limits().volume_name_length])
def test_names_that_pass(name: str):
    assert problems(name) == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a/b", "write 'a-b'"),
        ("my apps", "write 'my-apps'"),
        (".zfs", "write 'zfs'"),
        ("apps\n", "write 'apps-'"),
        ("", "write a name such as 'apps'"),
        ("n" * 204, f"write '{'n' * 203}'"),
    ],
)
def test_names_that_are_refused(name: str, remedy: str):
    (problem,) = problems(name)
    assert (problem.code, problem.path, problem.value) == (Code.OPEN_ZFS_VOLUME_NAME, ("name",), name)
    assert problem.remedy == remedy


def test_a_name_that_is_taken():
    (problem,) = problems("home")
    assert (problem.code, problem.message) == (Code.OPEN_ZFS_VOLUME_NAME, "it is the home")


@pytest.mark.parametrize("quota", [1, 512])
def test_quotas_that_pass(quota: int):
    assert problems(quota_gib=quota) == []


@pytest.mark.parametrize(
    ("quota", "remedy"), [(0, "leave it out"), (-1, "leave it out"), (513, "take 512 GiB or less")]
)
def test_quotas_that_are_refused(quota: int, remedy: str):
    (problem,) = problems(quota_gib=quota)
    assert (problem.code, problem.path) == (Code.OPEN_ZFS_QUOTA, ("quota_gib",))
    assert problem.allowed == "1 to 512 GiB"
    assert remedy in problem.remedy


def test_what_is_known_only_at_deploy_time_is_let_pass():
    token = -1.888154589708e289
    assert problems(name="${Token[TOKEN.1]}") == []
    assert problems(quota_gib=token) == problems(quota_gib=600, capacity_gib=token) == []  # type: ignore[arg-type]
