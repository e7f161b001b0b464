"""Logs Enroot in to a private registry during one import, without a secret in a log or on a command line.

Enroot reads `$ENROOT_CONFIG_PATH/.credentials`, a netrc file, and sends the credentials of the image's registry
(Enroot, "Import"; `docker.sh`). Amazon ECR has the user `AWS` and a password that is valid for 12 hours.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Generator, Mapping

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.node import Node

FOLDER = "/run/llm-fleet/enroot"
"""In memory, only for root. A fixed path, so that the next import removes leftovers of a killed one."""
_ECR = re.compile(r"docker://(?:[^@#/]+@)?(\d{12}\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?)[#/]")
_SECONDS = 60.0


@contextlib.contextmanager
def logged_in(node: Node, image: str) -> Generator[Mapping[str, str], None, None]:
    """Yield the variables with which Enroot can import `image`; empty for a public image."""
    registry = _ECR.match(image)
    if registry is None:
        yield {}
        return
    password = _password(node, registry.group(1), registry.group(2))
    folder = node.host.path(FOLDER)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC  # codespell:ignore wronly
        handle = os.open(folder / ".credentials", flags, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(f"machine {registry.group(1)} login AWS password {password}\n")
        yield {"ENROOT_CONFIG_PATH": str(folder)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _password(node: Node, registry: str, region: str) -> str:
    aws = node.host.which("aws")
    if aws is None:
        fail(Code.REGISTRY, f"{registry} requires a login, but this node has no AWS CLI", final=True)
    try:
        password = node.host.run(aws, "ecr", "get-login-password", "--region", region, timeout=_SECONDS, secret=True)
    except CommandFailed as error:
        fail(Code.REGISTRY, f"the login to {registry} failed: {error.cause}")
    if not re.fullmatch(r"[A-Za-z0-9+/=._-]+", password.strip()):
        # Enroot expands the file with a shell, so the password must not have special characters.
        fail(Code.REGISTRY, f"the login to {registry} returned no valid ECR password")
    return password.strip()
