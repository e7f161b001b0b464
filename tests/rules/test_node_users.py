"""Users of the nodes and their SSH keys."""

import base64
from typing import Any

import pytest

from llm_fleet.rules.node_users import check_ssh_key, check_users
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.people import ClusterUser

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAqlhRFOt0ZYgK0L0Sb8uiTZb7YMjDX9DAlQ07NNzxgA ada@laptop"


def User(**changed: Any) -> ClusterUser:
    given: dict[str, Any] = {"name": "ada", "uid": 2001, "ssh_public_keys": (ED25519,), "slurm_account": "research"}
    return ClusterUser(**{**given, **changed})


def found(*users: ClusterUser) -> list[tuple[str, str]]:
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
def test_valid_users_pass(changed: dict[str, Any]) -> None:
    assert found(User(**changed)) == []


@pytest.mark.parametrize(
    ("changed", "code", "where", "remedy"),
    [
        ({"name": "Ada"}, "LF412", "[0].name", "`ada`"),
        ({"name": "ada lovelace"}, "LF412", "[0].name", "`adalovelace`"),
        ({"name": "1ada"}, "LF412", "[0].name", "`ada`"),
        ({"name": "é"}, "LF412", "[0].name", "lower-case"),
        ({"name": "a" * 33}, "LF412", "[0].name", "`" + "a" * 32 + "`"),
        ({"name": "root"}, "LF412", "[0].name", "`root-ml`"),
        ({"name": "slurm"}, "LF412", "[0].name", "`slurm-ml`"),
        ({"name": "ubuntu"}, "LF412", "[0].name", "another name"),
        ({"name": "sudo"}, "LF412", "[0].name", "another name"),
        ({"uid": 0}, "LF413", "[0].uid", "2001"),
        ({"uid": 1000}, "LF413", "[0].uid", "1001"),
        ({"uid": 60001}, "LF413", "[0].uid", "do not change"),
        ({"uid": 65534}, "LF413", "[0].uid", "2001"),
        ({"uid": 2147483648}, "LF413", "[0].uid", "2001"),
        ({"gid": 27}, "LF413", "[0].gid", "2001"),
        ({"slurm_account": "Research"}, "LF416", "[0].slurm_account", "`research`"),
        ({"slurm_account": "a,b"}, "LF416", "[0].slurm_account", "`a-b`"),
        ({"slurm_account": ""}, "LF416", "[0].slurm_account", "`research`"),
    ],
)
def test_invalid_users_are_reported_with_a_remedy(changed: dict[str, Any], code: str, where: str, remedy: str) -> None:
    problem = only(**changed)
    assert (problem.code.value, problem.where) == (code, where)
    assert remedy in problem.remedy


def test_the_suggested_name_is_valid() -> None:
    repaired = only(name="Ada Lovelace_2").remedy.split("`")[1]
    assert found(User(name=repaired)) == []


def test_names_and_ids_of_users_must_be_unique() -> None:
    assert found(User(), User(uid=2002)) == [("LF414", "[1].name")]
    assert found(User(), User(name="grace")) == [("LF414", "[1].uid")]
    assert found(User(gid=3000), User(name="grace", uid=2002, gid=3000)) == [], "groups are shared"


def test_all_problems_are_reported_together() -> None:
    bad = User(name="Root", uid=5, gid=6, ssh_public_keys=("x",), slurm_account="A")
    assert [code for code, _ in found(bad)] == ["LF412", "LF413", "LF413", "LF415", "LF416"]


DATA = "AAAAC3NzaC1lZDI1NTE5AAAAIAqlhRFOt0ZYgK0L0Sb8uiTZb7YMjDX9DAlQ07NNzxgA"
PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"


def key(kind: str, rest: bytes = b"\x00\x00\x00\x01x") -> str:
    return f"{kind} {base64.b64encode(len(kind).to_bytes(4, 'big') + kind.encode() + rest).decode()}"


@pytest.mark.parametrize(
    "good",
    [
        f"ssh-ed25519 {DATA}",
        f"ssh-ed25519 {DATA} ada@laptop, the second",
        f"ssh-ed25519 {DATA} ada\n",
        key("ssh-rsa"),
        key("ecdsa-sha2-nistp256"),
        key("sk-ssh-ed25519@openssh.com"),
        "${Token[TOKEN.1]}",
    ],
)
def test_public_keys_pass(good: str) -> None:
    assert check_ssh_key(good) == []


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", "a key type"),
        (DATA, "a key type"),
        ("ssh-ed25519", "complete"),
        (f"ssh-ed25519 {DATA[:-9]}", "complete"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5", "complete"),
        (f"ssh-rsa {DATA}", "not a complete key of type ssh-rsa"),
        (key("ssh-dss"), "a key type"),
        (f"ssh-ed25519 {DATA}\nssh-ed25519 {DATA}", "more than one line"),
        (f"ssh-ed25519 {DATA}\r\n", "more than one line"),
        (f'command="sh" ssh-ed25519 {DATA}', "a key type"),
        (PRIVATE, "private"),
    ],
)
def test_other_keys_are_reported(bad: str, said: str) -> None:
    (problem,) = check_ssh_key(bad)
    assert problem.code.value == "LF415"
    assert said in problem.message
    assert ".pub" in problem.remedy


def test_a_private_key_is_not_shown() -> None:
    (problem,) = check_ssh_key(PRIVATE)
    assert "c2VjcmV0" not in str(problem)
    assert "BEGIN" not in str(problem)
