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
    """A command of the CDK CLI failed; its own output has the reason."""


class CdkCli:
    """Runs the pinned CDK CLI against an endpoint, with dummy credentials and its own home folder."""

    def __init__(self, *, endpoint: str, region: str, fleet_file: Path, console: Console) -> None:
        """Deploy `fleet_file` to `endpoint` and `region`."""
        self._region = region
        self._console = console
        self._environment = _environment(endpoint, region)
        self._common = ["--context", f"fleet={fleet_file.resolve()}", "--output", str(FOLDER / "cdk.out")]

    def bootstrap(self) -> None:
        """Create the bucket and the roles that the CDK needs. A second run changes nothing.

        In a folder with a cdk.json, the CLI would first synthesize the app, without using it.
        """
        self._run("bootstrap", f"aws://{DEFAULT_ACCOUNT}/{self._region}", folder=FOLDER)

    def deploy(self, stacks: str) -> None:
        """Synthesize, check and deploy a stack with its dependencies, or `--all` stacks. Raises CdkFailed."""
        progress = (
            [] if self._console.is_terminal else ["--progress", "events"]
        )  # otherwise the CLI draws a progress bar
        self._run("deploy", stacks, "--require-approval", "never", *progress, *self._common)

    def _run(self, *arguments: str, folder: Path = ROOT) -> None:
        self._console.rule(f"cdk {' '.join(arguments[:2])}", align="left")
        piped = [] if self._console.is_terminal else ["--ci"]
        finished = subprocess.run([str(CDK), *arguments, *piped], cwd=folder, env=self._environment, check=False)
        if finished.returncode:
            raise CdkFailed(f"cdk {arguments[0]} ended with {finished.returncode}")


def _environment(endpoint: str, region: str) -> Mapping[str, str]:
    """Exclude the user's AWS configuration: a demo must not reach a real account.

    The user's choice of template validation by the CDK is kept.
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
