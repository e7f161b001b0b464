"""The real CDK CLI, pointed at the embedded AWS."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from local.aws.server import DEFAULT_ACCOUNT, client_environment
from tools.demo.embedded_aws import FOLDER
from tools.synth_environment import ROOT, project_node, use_project_node

CDK = ROOT / "node_modules" / ".bin" / "cdk"


class CdkFailed(Exception):
    """A command of the CDK CLI ended with an error; its own output has said why."""


class CdkCli:
    """Runs the pinned CDK CLI against an endpoint, with credentials and a home folder that hold nothing real."""

    def __init__(self, *, endpoint: str, region: str, fleet_file: Path, console: Console) -> None:
        """Take where to deploy (`endpoint`, `region`) and what (`fleet_file`)."""
        self._region = region
        self._console = console
        self._environment = _environment(endpoint, region)
        self._common = ["--context", f"fleet={fleet_file.resolve()}", "--output", str(FOLDER / "cdk.out")]

    def bootstrap(self) -> None:
        """Make the bucket and the roles that the CDK deploys with. Again: changes nothing.

        Where there is a cdk.json, the CLI would synthesize the app first, and not use it.
        """
        self._run("bootstrap", f"aws://{DEFAULT_ACCOUNT}/{self._region}", folder=FOLDER)

    def deploy(self, stacks: str) -> None:
        """Synthesize, check and deploy a stack with those it needs, or `--all` of the fleet. Raises CdkFailed."""
        progress = [] if self._console.is_terminal else ["--progress", "events"]  # else the CLI draws a bar
        self._run("deploy", stacks, "--require-approval", "never", *progress, *self._common)

    def _run(self, *arguments: str, folder: Path = ROOT) -> None:
        self._console.rule(f"cdk {' '.join(arguments[:2])}", align="left")
        piped = [] if self._console.is_terminal else ["--ci"]
        finished = subprocess.run([str(CDK), *arguments, *piped], cwd=folder, env=self._environment, check=False)
        if finished.returncode:
            raise CdkFailed(f"cdk {arguments[0]} ended with {finished.returncode}")


def _environment(endpoint: str, region: str) -> Mapping[str, str]:
    """Nothing of the user's AWS set-up may leak in: a demo must not reach a real account.

    Whether the CDK validates the templates stays the user's choice.
    """
    use_project_node()
    node = project_node()
    home = FOLDER / "home"
    home.mkdir(parents=True, exist_ok=True)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name == "CDK_VALIDATION" or not name.startswith(("AWS_", "CDK_"))
    }
    return {
        **inherited,
        "PATH": f"{node.parent}:{os.environ['PATH']}" if node else os.environ["PATH"],
        "HOME": str(home),
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": os.path.expanduser("~/.cache/aws/jsii/package-cache"),
        **client_environment(endpoint, account=DEFAULT_ACCOUNT, region=region),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
    }
