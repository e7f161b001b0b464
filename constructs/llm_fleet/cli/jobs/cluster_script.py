"""The scripts that are run on a cluster: files of this package, told what they need as variables."""

import shlex
from pathlib import Path

_FOLDER = Path(__file__).parent / "on_cluster"


def cluster_script(name: str, **variables: str) -> str:
    """Return the script `name`, e.g. `submit`, with `variables` set before its first line."""
    text = (_FOLDER / f"{name}.sh").read_text(encoding="utf-8")
    return "".join(f"{key}={shlex.quote(value)}\n" for key, value in variables.items()) + text
