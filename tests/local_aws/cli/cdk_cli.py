"""Runs the real CDK CLI against an emulation."""

import os
import subprocess
import sys
from pathlib import Path

from local_aws.client import LocalAws
from tools.synth_environment import ROOT, use_project_node

CDK = ROOT / "node_modules" / ".bin" / "cdk"
DEPLOY = ("deploy", "--all", "--require-approval", "never", "--progress", "events")


class Cli:
    """Runs the project's `cdk` on the apps of this folder, with a home of its own: the CLI caches accounts there."""

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
            "PYTHONPATH": str(ROOT),
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CI": "true",
        }

    def run(self, app: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run one command on an app; `variables` are what the app reads."""
        command = f"{sys.executable} {Path(__file__).with_name(app)}"
        output = str(self._home / f"{app}.out")
        return subprocess.run(
            [str(CDK), "--app", command, "--output", output, "--no-notices", *arguments],
            cwd=self._home,
            env={**self._environment, **variables},
            capture_output=True,
            text=True,
            timeout=240,
        )

    def __call__(self, app: str, *arguments: str, **variables: str) -> str:
        """Run one command that must succeed, and return what it said."""
        done = self.run(app, *arguments, **variables)
        assert done.returncode == 0, f"cdk {arguments}:\n{done.stdout}\n{done.stderr}\n{self.aws.server_log[-3000:]}"
        return done.stdout + done.stderr
