"""The root of a notebook instance on this machine, with recorders as programs."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("bash", "base64", "rm", "mkdir", "cat", "grep", "sed", "install")


class ThrowawayNotebook:
    """A root with the files of the platform."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._bin = root / "usr/bin"
        self._bin.mkdir(parents=True)
        for name in PROGRAMS:
            path = next(Path(folder) / name for folder in ("/usr/bin", "/bin") if (Path(folder) / name).exists())
            (self._bin / name).symlink_to(path)
        self._calls = root / "calls"
        self.program("python3", f'exec {sys.executable} "$@"')
        self.program("systemctl", f'echo "systemctl $*" >>{shlex.quote(str(self._calls))}')
        # As the notebook's user: only the user in the request is checked.
        self.program("runuser", f'echo "runuser $*" >>{shlex.quote(str(self._calls))}\nshift 3\nexec "$@"')
        self.conda("JupyterSystemEnv/bin/python3", f'exec {sys.executable} "$@"')
        # Prints the output of a real pip; see `test_pins`.
        constraint = root / "etc/llm-fleet/constraints.txt"
        self.conda("python3/bin/pip", f"echo \"install.constraint='{constraint}'\"")

    def program(self, name: str, body: str) -> None:
        """Put a program with this text on the path."""
        _write(self._bin / name, body)

    def conda(self, name: str, body: str) -> None:
        """Put a program into a conda environment."""
        _write(self.root / "home/ec2-user/anaconda3/envs" / name, body)

    def start(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run the lifecycle script, as SageMaker does at each start."""
        path = self.root / "on-start"
        path.write_text(script)
        environment = {"LLM_FLEET_ROOT": str(self.root), "LLM_FLEET_PATH": str(self._bin), "PATH": os.environ["PATH"]}
        return subprocess.run(
            ["/bin/bash", path], env=environment, cwd="/", capture_output=True, text=True, check=False
        )

    def calls(self) -> list[str]:
        """The calls of the recorders."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def text(self, path: str) -> str:
        """The text of a file."""
        return (self.root / path).read_text()


def _write(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)
