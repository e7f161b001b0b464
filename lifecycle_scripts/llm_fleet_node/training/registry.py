"""Lets Enroot log in to a private registry for the time of one import, without a secret in a log or on a command line.

Enroot reads `$ENROOT_CONFIG_PATH/.credentials`, in the form of netrc, and sends what it finds for the image's registry
(Enroot, "Import"; `docker.sh`). Amazon ECR takes the user `AWS` and a password that is good for 12 hours.
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
"""In memory, root's alone. A fixed place, so that what a killed import left is removed by the next."""
_ECR = re.compile(r"docker://(?:[^@#/]+@)?(\d{12}\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?)[#/]")
_SECONDS = 60.0


@contextlib.contextmanager
def logged_in(node: Node, image: str) -> Generator[Mapping[str, str], None, None]:
    """Give the variables with which Enroot may import `image`; none are needed for a public one."""
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
        handle = os.open(folder / ".credentials", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(f"machine {registry.group(1)} login AWS password {password}\n")
        yield {"ENROOT_CONFIG_PATH": str(folder)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _password(node: Node, registry: str, region: str) -> str:
    aws = node.host.which("aws")
    if aws is None:
        fail(Code.REGISTRY, f"{registry} asks for a login, which needs the AWS CLI: this node has none", final=True)
    try:
        password = node.host.run(aws, "ecr", "get-login-password", "--region", region, timeout=_SECONDS, secret=True)
    except CommandFailed as error:
        fail(Code.REGISTRY, f"no login for {registry}: {error.cause}")
    if not re.fullmatch(r"[A-Za-z0-9+/=._-]+", password.strip()):
        # Enroot lets a shell expand the file, and a word of it must stay one.
        fail(Code.REGISTRY, f"the login for {registry} is no password of ECR")
    return password.strip()
