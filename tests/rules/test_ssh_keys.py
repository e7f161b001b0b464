"""Public SSH keys by their form; a private one is never shown."""

import base64

import pytest

from llm_fleet.rules.ssh_keys import check_ssh_key

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
        ("", "type of a key"),
        (DATA, "type of a key"),
        ("ssh-ed25519", "cut off"),
        (f"ssh-ed25519 {DATA[:-9]}", "cut off"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5", "cut off"),
        (f"ssh-rsa {DATA}", "no key of type ssh-rsa"),
        (key("ssh-dss"), "type of a key"),
        (f"ssh-ed25519 {DATA}\nssh-ed25519 {DATA}", "more than one line"),
        (f"ssh-ed25519 {DATA}\r\n", "more than one line"),
        (f'command="sh" ssh-ed25519 {DATA}', "type of a key"),
        (PRIVATE, "private"),
    ],
)
def test_anything_else_is_told(bad: str, said: str) -> None:
    (problem,) = check_ssh_key(bad)
    assert problem.code.value == "LF415"
    assert said in problem.message
    assert ".pub" in problem.remedy


def test_a_private_key_is_not_shown() -> None:
    (problem,) = check_ssh_key(PRIVATE)
    assert "c2VjcmV0" not in str(problem)
    assert "BEGIN" not in str(problem)
