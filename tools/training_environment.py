"""Builds `.tools/training`, an environment with PyTorch for the CPU, for the tests of the training program.

    python -m tools.training_environment

Its packages are pinned with checksums in the lock file of the drill's nodes. The wheels stay in `.tools/wheels`, from
where the drill fills its mirror. pip downloads them from its configured indexes; PyTorch's own index, which has the CPU
build, is queried only for packages that those do not have.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.synth_environment import ROOT

LOCK = ROOT / "examples" / "training-cpu.lock.json"
ENVIRONMENT = ROOT / ".tools" / "training"
WHEELS = ROOT / ".tools" / "wheels"
PYTHON = (3, 11)
"""What the lock's wheels are for."""
_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
_PIP = (str(ROOT / ".tools" / "uv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check")
"""pip, which reads this machine's package settings, unlike uv."""


def main() -> int:
    """Create the environment, or do nothing if this is another version of Python; return the exit code."""
    if sys.version_info[:2] != PYTHON:
        version = ".".join(map(str, PYTHON))
        print(
            f"no environment for training: it needs Python {version}, this is {sys.version.split()[0]}",
            file=sys.stderr,
        )
        return 0
    fetch()
    target = ENVIRONMENT / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(ENVIRONMENT)], check=True)
    arguments = ("install", "--quiet", "--no-index", "--no-deps", "--find-links", str(WHEELS))
    subprocess.run([*_PIP, "--python", str(target), *arguments, "-r", str(_requirements())], check=True)
    return 0


def fetch() -> Path:
    """Fetch the wheels of the lock file into `WHEELS`, each compared with its checksum; return the folder."""
    WHEELS.mkdir(parents=True, exist_ok=True)
    arguments = ("download", "--quiet", "--no-deps", "--require-hashes", "--dest", str(WHEELS))
    command = [*_PIP, *arguments, "--find-links", str(WHEELS), "-r", str(_requirements())]
    if subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode:
        subprocess.run([*command, "--extra-index-url", _CPU_INDEX], check=True)
    return WHEELS


def _requirements() -> Path:
    """Write what the lock pins as pip reads it; return the file."""
    files: list[dict[str, Any]] = json.loads(LOCK.read_text(encoding="utf-8"))["files"]
    path = WHEELS / "requirements.txt"
    lines = [f"{file['name']}=={file['version']} --hash=sha256:{file['sha256']}\n" for file in files]
    path.write_text("".join(lines), encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
