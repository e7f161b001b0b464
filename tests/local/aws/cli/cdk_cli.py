"""Runs the real CDK CLI against an AWS emulator."""

import os
import subprocess
import sys
from pathlib import Path

from llm_fleet_local.aws.client import LocalAws
from tools.synth_environment import ROOT, use_project_node

CDK = ROOT / "node_modules" / ".bin" / "cdk"
JSII_CACHE = {"JSII_RUNTIME_PACKAGE_CACHE_ROOT": os.path.expanduser("~/.cache/aws/jsii/package-cache")}
"""With its own HOME an app would unpack the CDK library again, which takes longer than everything else."""
DEPLOY = ("deploy", "--all", "--require-approval", "never", "--progress", "events")


class Cli:
    """Runs the project's `cdk` with its own HOME: the CLI caches accounts there.

    It runs on an app in this folder, named by its file, or on a synthesized assembly.
    """

    def __init__(self, aws: LocalAws, home: Path) -> None:
        use_project_node()
        node = Path(os.environ["JSII_NODE"])
        self.aws = aws
        self._home = home
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            **aws.environment,
            "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            **JSII_CACHE,
            "PYTHONPATH": str(ROOT),
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CI": "true",
        }

    def run(self, app: str | Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run one command on an app."""
        return subprocess.run(
            [str(CDK), *self._source(app), "--no-notices", *arguments],
            cwd=self._home,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=240,
        )

    def _source(self, app: str | Path) -> list[str]:
        if isinstance(app, Path):
            return ["--app", str(app)]
        command = f"{sys.executable} {Path(__file__).with_name(app)}"
        return ["--app", command, "--output", str(self.assembly(app))]

    def assembly(self, app: str) -> Path:
        """Return the assembly of the last command on `app`; a command on it need not synthesize again."""
        return self._home / f"{app}.out"

    def __call__(self, app: str | Path, *arguments: str) -> str:
        """Run one command that must succeed, and return its output."""
        done = self.run(app, *arguments)
        assert done.returncode == 0, f"cdk {arguments}:\n{done.stdout}\n{done.stderr}\n{self.aws.server_log[-3000:]}"
        return done.stdout + done.stderr
