"""Why a mount failed: each cause has its own remedy, and mount(8) hardly distinguishes them."""

from __future__ import annotations

import errno
import os

from llm_fleet_node.failures import Code, Failure
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.mounts.remote import Remote
from llm_fleet_node.names import addresses_of

_DNS_SECONDS, _CONNECT_SECONDS = 5.0, 5.0
_NO_CLIENT = ("unknown filesystem type", "modules loaded?", "no such device", "protocol not supported")
"""Messages of mount(8), mount.lustre and mount.nfs if the kernel lacks the client."""
_NO_SHARE = (
    "filesystem name correct?",
    "correct filesystem name?",
    "no such file or directory",
    "access denied by server",
)
"""Messages of mount.lustre and mount.nfs if the server has no such share for this node."""


def why_not_mounted(host: Host, remote: Remote, error: CommandFailed) -> Failure:
    """Return the failure for `error` of mount(8); final if waiting does not help."""
    said = error.output.lower()
    shown = " ".join(error.output.split()) or "no output"
    if any(sign in said for sign in _NO_CLIENT):
        return Failure(Code.STORAGE_CLIENT, f"the kernel has no client for {remote.kind}: {shown}", final=True)
    if any(sign in said for sign in _NO_SHARE):
        return Failure(
            Code.STORAGE_REJECTED, f"{remote.server} has no {remote.share} for this node: {shown}", final=True
        )
    addresses = addresses_of(host, remote.server, seconds=_DNS_SECONDS)
    if not addresses:
        return Failure(Code.STORAGE_NAME, f"{remote.server} does not resolve within {_DNS_SECONDS:g} s")
    problem = connect_problem(addresses[0], remote.port, seconds=_CONNECT_SECONDS)
    if problem:
        return Failure(Code.STORAGE_PORT, f"{remote.server} ({addresses[0]}) port {remote.port}: {problem}")
    how = "did not finish in time" if error.returncode is None else f"ended with {error.returncode}"
    return Failure(Code.STORAGE_REJECTED, f"{remote.server} answers on port {remote.port}, but mount {how}: {shown}")


def connect_problem(address: str, port: int, *, seconds: float) -> str:
    """Return why a TCP connection to `address` fails; empty if it works."""
    import socket  # rarely needed, and every node compiles every step

    try:
        socket.create_connection((address, port), timeout=seconds).close()
    except socket.timeout:
        return f"no answer within {seconds:g} s; a security group may block it"
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "")
        return f"{os.strerror(error.errno or 0)} ({name})"
    return ""
