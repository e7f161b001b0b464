"""A systemctl that runs the commands of the units below the host's root, in the environment of the units."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ["RECORDER_ROOT"])
UNITS = ROOT / "etc/systemd/system"


def main(arguments: list[str]) -> int:
    """Emulate only the calls that hosts make."""
    with (ROOT / "calls").open("a") as calls:
        calls.write(f"systemctl {' '.join(arguments)}\n")
    if arguments in (["daemon-reload"], ["enable", "llm-fleet-host.service"]):
        return 0
    if arguments == ["mask", "--now", "--no-block", "ecs.service"]:
        return 0
    if arguments in (["start", "llm-fleet-host.service"], ["restart", "llm-fleet-model.service"]):
        return start(arguments[1])
    return 64


def start(unit: str) -> int:
    """Run the unit's commands; one with a `-` can fail."""
    lines = [line.partition("=") for line in (UNITS / unit).read_text().splitlines() if "=" in line and line[0] != "#"]
    environment = dict(os.environ)
    for name, _, value in lines:
        if name == "Environment":
            environment |= dict(pair.split("=", 1) for pair in shlex.split(value.replace("=/", f"={ROOT}/")))
        if name == "EnvironmentFile":
            text = (ROOT / value.lstrip("/")).read_text()
            environment |= {
                key: shlex.split(reported)[0]
                for key, _, reported in (line.partition("=") for line in text.splitlines())
            }
    for name, _, value in lines:
        if name not in ("ExecStartPre", "ExecStart"):
            continue
        ended = subprocess.run(words(value.removeprefix("-"), environment), env=environment, check=False).returncode
        if ended and not value.startswith("-"):
            return 1
    return 0


def words(command: str, environment: dict[str, str]) -> list[str]:
    """Split as systemd does: `$NAME` alone is split at blanks outside of quotes, `${NAME}` never."""
    made: list[str] = []
    for word in shlex.split(command):
        if re.fullmatch(r"\$\w+", word):
            made += shlex.split(environment[word[1:]])
        else:
            made.append(re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], word))
    return [moved(made[0]), *made[1:]]


def moved(program: str) -> str:
    """Return the host's own program."""
    return os.environ["RECORDER_PYTHON"] if program == "/usr/bin/python3" else str(ROOT / program.lstrip("/"))


sys.exit(main(sys.argv[1:]))
