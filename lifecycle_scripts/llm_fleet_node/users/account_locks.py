"""The locks of the account tools (e.g. `useradd`), which a killed tool leaves behind.

Each tool holds `/etc/passwd.lock` and similar files with its process id, made with a hard link. The next tool removes
a lock whose process has ended. Two kinds of locks would block every tool forever: one without a process id, after a
power failure, and one whose id now belongs to another program, as after a reboot. (shadow's
`lib/commonio.c`; tested with shadow 4.17.)
"""

from __future__ import annotations

from llm_fleet_node.failures import Code
from llm_fleet_node.host import Host
from llm_fleet_node.waiting import wait_for

_LOCKS = tuple(f"/etc/{name}.lock" for name in ("passwd", "shadow", "group", "gshadow", "subuid", "subgid"))
_TOOLS = {
    "useradd", "usermod", "userdel", "groupadd", "groupmod", "groupdel", "groupmems", "newusers", "passwd", "chpasswd",
    "chgpasswd", "gpasswd", "chage", "chfn", "chsh",  # codespell:ignore chage,chsh
    "pwck", "grpck", "pwconv", "grpconv", "pwunconv", "grpunconv",
    "vipw", "vigr", "systemd-sysuser",
}  # fmt: skip
"""Programs that hold such locks, with the kernel's process names of 15 characters."""


def wait_until_free(host: Host, *, seconds: float = 20) -> None:
    """Remove stale locks, and wait until held locks are released.

    Raises `Failure` with `LFN78` if one is held longer than `seconds`.
    """
    held: list[str] = []

    def free() -> bool:
        held[:] = [lock for lock in _LOCKS if _is_held(host, lock)]
        return not held

    for lock in _LOCKS:
        if host.read(lock) is not None and not _is_held(host, lock):
            host.remove(lock)
    if not free():
        wait_for(
            f"end of {', '.join(held)} (held by a running account tool)", free, seconds=seconds, code=Code.ACCOUNT_FILES
        )


def _is_held(host: Host, lock: str) -> bool:
    pid = (host.read(lock) or "").strip("\0\n ")
    return pid.isdigit() and (host.read(f"/proc/{pid}/comm") or "").strip() in _TOOLS
