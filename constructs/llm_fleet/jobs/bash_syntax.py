"""Asks bash whether it can read a script, without running any of it."""

import re
import shutil
import subprocess

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem

_SAID = re.compile(r"line (?P<line>\d+): (?P<what>.*)")
_LONGEST = 10
"""Seconds; reading a batch file takes bash a few milliseconds."""


def check_bash(text: str) -> list[Problem]:
    """Return what bash cannot read in `text`; nothing where no bash is installed, e.g. on Windows.

    `bash -n` reads the whole script and runs nothing of it. It knows no file, so a script that is fetched by name on
    the node is not looked at.
    """
    bash = shutil.which("bash")
    if bash is None:
        return []
    done = subprocess.run(  # noqa: S603
        [bash, "--norc", "-n", "/dev/stdin"],
        input=text,
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
        env={"LC_ALL": "C"},
    )
    said = [match for line in done.stderr.splitlines() if (match := _SAID.search(line))]
    if done.returncode == 0 and not said:
        return []
    first = said[0] if said else None
    return [
        Problem(
            code=Code.BATCH_FILE,
            message=f"bash cannot read it: {first['what'] if first else done.stderr.strip()}",
            remedy="mend that line, or one before it where a quote or bracket is left open",
            path=(f"line {first['line']}",) if first else (),
        )
    ]
