"""Sudo rights of the users with `sudo`."""

from __future__ import annotations

from collections.abc import Sequence

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.manifest_parts import User

FILE = "/etc/sudoers.d/llm-fleet"


def sudoers(users: Sequence[User]) -> str:
    """Return the text of `FILE`; empty if no user has sudo. Without a password, because the users have none."""
    lines = [f"{user.name} ALL=(ALL:ALL) NOPASSWD:ALL\n" for user in users if user.sudo]
    return "".join(["# Written by llm-fleet from the fleet file's users.\n", *lines]) if lines else ""


def put_sudoers(host: Host, users: Sequence[User]) -> None:
    """Write the sudo rights of `users` to `FILE`."""
    put_file(host, FILE, sudoers(users))


def put_file(host: Host, path: str, text: str) -> None:
    """Write `path` after visudo has checked it, because sudo works for no user if a file is invalid; or remove it."""
    if not text:
        host.remove(path)
        return
    if host.read(path) == text:
        host.write(path, text, mode=0o440)
        return
    if host.which("visudo") is None:
        fail(Code.SUDOERS, "users have `sudo`, but the node has no visudo", final=True)
    try:
        host.run("visudo", "--check", "--file=-", input=text)
    except CommandFailed as error:
        fail(Code.SUDOERS, f"visudo rejects the text of {path}: {error.output.strip()}", final=True)
    host.write(path, text, mode=0o440)


def sudo_problem(host: Host, users: Sequence[User]) -> str:
    """Describe errors in the sudo rights; empty if there are none. Runs sudo for one of the users."""
    text = sudoers(users)
    if (host.read(FILE) or "") != text:
        return f"{FILE} does not match the fleet file"
    for user in [user for user in users if user.sudo][:1]:
        said = host.run("sudo", "--list", "--other-user", user.name)
        if "NOPASSWD: ALL" not in said:
            return f"sudo does not let {user.name} become root: {said.strip()}"
    return ""
