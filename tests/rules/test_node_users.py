"""Users that every node can take alike, and what is said of others."""

from dataclasses import dataclass
from typing import Any

import pytest

from llm_fleet.rules.node_users import check_users
from llm_fleet.rules.problem import Problem

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAqlhRFOt0ZYgK0L0Sb8uiTZb7YMjDX9DAlQ07NNzxgA ada@laptop"


@dataclass(frozen=True, kw_only=True)
class User:
    name: str = "ada"
    uid: int = 2001
    gid: int | None = None
    ssh_public_keys: tuple[str, ...] = (ED25519,)
    slurm_account: str | None = "research"
    home: str | None = None


def found(*users: User) -> list[tuple[str, str]]:
    return [(problem.code.value, problem.where) for problem in check_users(users)]


def only(**changed: Any) -> Problem:
    (problem,) = check_users([User(**changed)])
    return problem


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"name": "_x"},
        {"name": "a" * 32},
        {"uid": 1001},
        {"uid": 60000},
        {"uid": 65536},
        {"uid": 2147483647},
        {"gid": 3000},
        {"ssh_public_keys": ()},
        {"slurm_account": None},
        {"slurm_account": "team_a.b-1"},
        {"name": "${Token[TOKEN.1]}"},
    ],
)
def test_good_users_pass(changed: dict[str, Any]) -> None:
    assert found(User(**changed)) == []


@pytest.mark.parametrize(
    ("changed", "code", "where", "remedy"),
    [
        ({"name": "Ada"}, "LF412", "[0].name", "'ada'"),
        ({"name": "ada lovelace"}, "LF412", "[0].name", "'adalovelace'"),
        ({"name": "1ada"}, "LF412", "[0].name", "'ada'"),
        ({"name": "é"}, "LF412", "[0].name", "lower-case"),
        ({"name": "a" * 33}, "LF412", "[0].name", "'" + "a" * 32 + "'"),
        ({"name": "root"}, "LF412", "[0].name", "'root-ml'"),
        ({"name": "slurm"}, "LF412", "[0].name", "'slurm-ml'"),
        ({"name": "ubuntu"}, "LF412", "[0].name", "another name"),
        ({"name": "sudo"}, "LF412", "[0].name", "another name"),
        ({"uid": 0}, "LF413", "[0].uid", "2001"),
        ({"uid": 1000}, "LF413", "[0].uid", "1001"),
        ({"uid": 60001}, "LF413", "[0].uid", "never change"),
        ({"uid": 65534}, "LF413", "[0].uid", "2001"),
        ({"uid": 2147483648}, "LF413", "[0].uid", "2001"),
        ({"uid": "2001"}, "LF413", "[0].uid", "2001"),
        ({"uid": True}, "LF413", "[0].uid", "2001"),
        ({"gid": 27}, "LF413", "[0].gid", "2001"),
        ({"ssh_public_keys": ED25519}, "LF415", "[0].ssh_public_keys", "brackets"),
        ({"slurm_account": "Research"}, "LF416", "[0].slurm_account", "'research'"),
        ({"slurm_account": "a,b"}, "LF416", "[0].slurm_account", "'a-b'"),
        ({"slurm_account": ""}, "LF416", "[0].slurm_account", "'research'"),
    ],
)
def test_what_no_node_takes_is_told_with_what_to_write(
    changed: dict[str, Any], code: str, where: str, remedy: str
) -> None:
    problem = only(**changed)
    assert (problem.code.value, problem.where) == (code, where)
    assert remedy in problem.remedy


def test_a_mended_name_is_a_good_one() -> None:
    mended = only(name="Ada Lovelace_2").remedy.split("'")[1]
    assert found(User(name=mended)) == []


def test_names_and_ids_are_each_of_one_user() -> None:
    assert found(User(), User(uid=2002)) == [("LF414", "[1].name")]
    assert found(User(), User(name="grace")) == [("LF414", "[1].uid")]
    assert found(User(gid=3000), User(name="grace", uid=2002, gid=3000)) == [], "groups are shared"


def test_all_that_is_wrong_is_told_at_once() -> None:
    bad = User(name="Root", uid=5, gid=6, ssh_public_keys=("x",), slurm_account="A")
    assert [code for code, _ in found(bad)] == ["LF412", "LF413", "LF413", "LF415", "LF416"]
