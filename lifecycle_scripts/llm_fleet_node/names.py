"""Name resolution on this node, always with a timeout."""

from __future__ import annotations

import re

from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.marked_block import get_block, with_block

HOSTS = "/etc/hosts"
_SWITCH = re.compile(r"^hosts:\s*(\S+)", re.MULTILINE)
"""Pattern of the first source of host names; see nsswitch.conf(5)."""

_DNS_PORT, _SERVFAIL = 53, 2

Entry = tuple[str, tuple[str, ...]]
"""An address and its names, the canonical one first."""


def own_name(host: Host) -> str:
    """Return the kernel's host name; empty if it has none."""
    name = (host.read("/proc/sys/kernel/hostname") or "").strip()
    return "" if name in ("(none)", "localhost") else name


def in_hosts_file(host: Host, name: str) -> tuple[str, ...]:
    """Return the IPv4 addresses that `/etc/hosts` gives `name`, in its order."""
    return tuple(address for address, names in hosts_entries(host) if name in names and ":" not in address)


def hosts_entries(host: Host, *, without_block: str = "") -> list[Entry]:
    """Return the entries of `/etc/hosts`, except those of our block `without_block`."""
    text = host.read(HOSTS) or ""
    return _entries(with_block(text, without_block, "") if without_block else text)


def block_entries(host: Host, block: str) -> list[Entry]:
    """Return the entries of our `block` in `/etc/hosts`."""
    return _entries(get_block(host, HOSTS, block))


def _entries(text: str) -> list[Entry]:
    lines = (line.split("#")[0].split() for line in text.splitlines())
    return [(words[0], tuple(words[1:])) for words in lines if len(words) > 1]


def addresses_of(host: Host, name: str, *, seconds: float = 5) -> tuple[str, ...]:
    """Return the IPv4 addresses of `name`; empty if it is not resolved within `seconds`.

    `/etc/hosts` is read first: a resolver needs seconds to report an unreachable server. DNS is queried in a separate
    process, which can be killed.
    """
    known = in_hosts_file(host, name)
    if known:
        return known
    return resolve(host, name, seconds=seconds)


def meaning(host: Host, name: str, *, seconds: float = 5) -> tuple[str, ...]:
    """Return the IPv4 addresses that programs on this node get for `name`, in order; empty if none within `seconds`.

    If `files` is the first source and `/etc/hosts` has the name, this is the answer; otherwise getent is used.
    """
    switch = _SWITCH.search(host.read("/etc/nsswitch.conf") or "")
    known = in_hosts_file(host, name) if switch and switch.group(1) == "files" else ()
    return known or resolve(host, name, seconds=seconds)


def resolve(host: Host, name: str, *, seconds: float = 5) -> tuple[str, ...]:
    """Return glibc's IPv4 addresses for `name`, in order; empty if none within `seconds`."""
    try:
        reported = host.run("getent", "ahostsv4", name, timeout=seconds)
    except CommandFailed:
        return ()
    return tuple(dict.fromkeys(line.split()[0] for line in reported.splitlines() if line.split()))


def dns_problem(host: Host, *, seconds: float = 2) -> str:
    """Return an error if no DNS server of `/etc/resolv.conf` answers, with the reason for each; empty if one does.

    A server that does not have a name also answers. systemd-resolved answers with SERVFAIL if no server answers it (RFC
    1035, 4.1.1).
    """
    lines = [line.split() for line in (host.read("/etc/resolv.conf") or "").splitlines()]
    servers = [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]
    reported: list[str] = []
    for server in servers:
        problem = _no_answer(server, seconds)
        if not problem:
            return ""
        reported.append(f"{server} {problem}")
    return f"no DNS server answers ({'; '.join(reported)})" if reported else ""


def _no_answer(server: str, seconds: float) -> str:
    import os
    import socket

    identity = os.urandom(2)
    question = b"".join(bytes([len(part)]) + part for part in (b"amazonaws", b"com")) + b"\0\0\1\0\1"
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.settimeout(seconds)
            asking.connect((server, _DNS_PORT))
            asking.send(identity + b"\1\0\0\1\0\0\0\0\0\0" + question)
            answer = asking.recv(512)
    except socket.timeout:
        return f"does not answer within {seconds:g} s"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    failed = len(answer) > 3 and answer[3] & 15 == _SERVFAIL
    return "returned SERVFAIL: it reaches no other server" if failed else ""
