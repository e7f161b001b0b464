"""Steps of the user's own: scripts of the bundle, run as `<script> apply` and `<script> verify`.

`apply` makes it so and may be run any number of times; `verify` changes nothing and ends with 0 only when it is so.
A script that knows no other way does in `verify` whatever proves that `apply` worked.
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


def own_steps(bundle: Path, own: Sequence[OwnStep], shipped: Mapping[str, Step]) -> dict[str, Step]:
    """Return the steps that the fleet's `own` scripts in `bundle` are.

    Raises `Failure` when a name is taken, or a script is missing or cannot be run.
    """
    found: dict[str, Step] = {}
    for entry in own:
        if entry.name in shipped:
            fail(Code.OWN_STEP_NAME, f"the own step {entry.name} has the name of a step of llm-fleet")
        if entry.name in found:
            fail(Code.OWN_STEP_NAME, f"two own steps are called {entry.name}")
        found[entry.name] = _step(bundle, entry)
    return found


def _step(bundle: Path, entry: OwnStep) -> Step:
    command = _command(bundle, entry)
    return Step(
        name=entry.name,
        summary=f"{entry.script} of the fleet's own",
        roles=frozenset(entry.roles),
        apply=_caller(command, "apply"),
        verify=_caller(command, "verify"),
        needs=entry.needs,
        timeout=entry.timeout_seconds,
        retries=entry.retries,
    )


def _command(bundle: Path, entry: OwnStep) -> list[str]:
    """Return how the script is run: S3 keeps no run bits, so never by itself."""
    script = bundle / entry.script
    if Path(entry.script).is_absolute() or ".." in Path(entry.script).parts:
        fail(Code.OWN_SCRIPT, f"the own step {entry.name} names {entry.script}, which is not in the bundle")
    try:
        text = script.read_bytes()
    except OSError as error:
        fail(Code.OWN_SCRIPT, f"the script {script} of the own step {entry.name} cannot be read: {error.strerror}")
    if b"\r\n" in text:
        fail(Code.OWN_LINE_ENDS, f"the script {script} of the own step {entry.name} has Windows line ends")
    if script.suffix == ".sh":
        return ["bash", str(script)]
    if script.suffix == ".py":
        return [sys.executable, "-E", "-s", "-B", str(script)]
    first = text.partition(b"\n")[0].decode("utf-8", "replace")
    interpreter = first[2:].split() if first.startswith("#!") else []
    if not interpreter:
        cause = f"the script {script} of the own step {entry.name} has no #! line, nor ends in .sh or .py"
        fail(Code.OWN_SCRIPT, cause)
    return [*interpreter, str(script)]


def _caller(command: list[str], verb: str) -> Callable[[Node], None]:
    def call(node: Node) -> None:
        # Its output is the step's, line by line; the runner stops it, with all it started, when its time is over.
        try:
            ended = subprocess.run(
                [*command, verb], cwd=node.places.bundle, env=_environment(node), stdin=subprocess.DEVNULL, check=False
            )
        except OSError as error:
            fail(Code.OWN_STEP, f"`{shlex.join(command)} {verb}` cannot be run: {error.strerror}", final=True)
        if ended.returncode:
            fail(Code.OWN_STEP, f"`{shlex.join(command)} {verb}` ended with {ended.returncode}")
        if verb == "apply":
            node.host.changes.append(f"ran {' '.join(command)}")

    return call


def _environment(node: Node) -> dict[str, str]:
    """What a script is told. It knows the rest from the manifest."""
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
