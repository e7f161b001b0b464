"""Custom steps: scripts of the bundle, run as `<script> apply` and `<script> verify`.

`apply` makes the change and can be run any number of times; `verify` changes nothing and exits with 0 only if the
state is correct.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.manifest_parts import OwnStep
from llm_fleet_node.node import Node
from llm_fleet_node.step import Step

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def custom_steps(bundle: Path, own: Sequence[OwnStep], shipped: Mapping[str, Step]) -> dict[str, Step]:
    """Return the steps for the fleet's `own` scripts in `bundle`.

    Raises `Failure` if a name is already used, or if a script is missing or cannot be run.
    """
    found: dict[str, Step] = {}
    for entry in own:
        if entry.name in shipped:
            fail(Code.CUSTOM_STEP_NAME, f"the custom step {entry.name} has the name of a built-in step")
        if entry.name in found:
            fail(Code.CUSTOM_STEP_NAME, f"two custom steps have the name {entry.name}")
        found[entry.name] = _step(bundle, entry)
    return found


def _step(bundle: Path, entry: OwnStep) -> Step:
    command = _command(bundle, entry)
    return Step(
        name=entry.name,
        summary=f"custom step, script {entry.script}",
        roles=frozenset(entry.roles),
        apply=_caller(command, "apply"),
        verify=_caller(command, "verify"),
        needs=entry.needs,
        timeout=entry.timeout_seconds,
        retries=entry.retries,
    )


def _command(bundle: Path, entry: OwnStep) -> list[str]:
    """Return the command of the script with its interpreter, because S3 does not keep execute bits."""
    script = bundle / entry.script
    if Path(entry.script).is_absolute() or ".." in Path(entry.script).parts:
        fail(
            Code.CUSTOM_SCRIPT_MISSING,
            f"the script {entry.script} of the custom step {entry.name} is not in the bundle",
        )
    try:
        text = script.read_bytes()
    except OSError as error:
        fail(
            Code.CUSTOM_SCRIPT_MISSING,
            f"script {script} of the custom step {entry.name} cannot be read: {error.strerror}",
        )
    if b"\r\n" in text:
        fail(
            Code.CUSTOM_SCRIPT_LINE_ENDINGS, f"script {script} of the custom step {entry.name} has Windows line endings"
        )
    if script.suffix == ".sh":
        return ["bash", str(script)]
    if script.suffix == ".py":
        return [sys.executable, "-E", "-s", "-B", str(script)]
    first = text.partition(b"\n")[0].decode("utf-8", "replace")
    interpreter = first[2:].split() if first.startswith("#!") else []
    if not interpreter:
        cause = f"script {script} of the custom step {entry.name} has no #! line and does not end in .sh or .py"
        fail(Code.CUSTOM_SCRIPT_MISSING, cause)
    return [*interpreter, str(script)]


def _caller(command: list[str], verb: str) -> Callable[[Node], None]:
    def call(node: Node) -> None:
        # Its output is logged line by line; after the timeout the runner kills it with all its children.
        try:
            ended = subprocess.run(
                [*command, verb], cwd=node.places.bundle, env=_environment(node), stdin=subprocess.DEVNULL, check=False
            )
        except OSError as error:
            fail(Code.CUSTOM_STEP, f"`{shlex.join(command)} {verb}` cannot be run: {error.strerror}", final=True)
        if ended.returncode:
            fail(Code.CUSTOM_STEP, f"`{shlex.join(command)} {verb}` ended with {ended.returncode}")
        if verb == "apply":
            node.host.changes.append(f"ran {' '.join(command)}")

    return call


def _environment(node: Node) -> dict[str, str]:
    """Environment variables of the script. Other values are in the manifest."""
    reported = {
        "LLM_FLEET_MANIFEST": str(node.places.bundle / "fleet.json"),
        "LLM_FLEET_BUNDLE": str(node.places.bundle),
        "LLM_FLEET_HOOK": node.hook,
        "LLM_FLEET_FLEET": node.manifest.fleet,
        "LLM_FLEET_CLUSTER": node.manifest.cluster or "",
        "LLM_FLEET_REGION": node.manifest.region,
        "LLM_FLEET_GROUP": node.group.name,
        "LLM_FLEET_ROLE": node.role,
        "LLM_FLEET_PARTITION": node.group.partition or "",
    }
    return {**os.environ, "PATH": os.environ.get("PATH", _PATH), "LC_ALL": "C.UTF-8", **reported}
