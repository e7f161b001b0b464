"""The real CDK CLI, pointed at the AWS emulator."""

import os
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from local.aws.server import DEFAULT_ACCOUNT, client_environment
from tools.demo.aws_emulator import FOLDER
from tools.demo.cdk_output import Output
from tools.synth_environment import ROOT, project_node, use_project_node

CDK = ROOT / "node_modules" / ".bin" / "cdk"


class CdkFailed(Exception):
    """A command of the CDK CLI failed; its own output has the reason."""


class CdkCli:
    """Runs the pinned CDK CLI against an endpoint, with dummy credentials and its own home folder."""

    def __init__(self, *, endpoint: str, region: str, fleet_file: Path, console: Console, output: Output) -> None:
        """Deploy `fleet_file` to `endpoint` and `region`; `output` runs the CLI and shows what it prints."""
        self._output = output
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
        options = self._output.deploy_options(self._console)
        self._run("deploy", stacks, "--require-approval", "never", *options, *self._common)

    def _run(self, *arguments: str, folder: Path = ROOT) -> None:
        self._console.rule(f"cdk {' '.join(arguments[:2])}", align="left")
        options = self._output.options(self._console)
        returned = self._output.run([str(CDK), *arguments, *options], folder, self._environment)
        if returned:
            raise CdkFailed(f"cdk {arguments[0]} ended with {returned}")


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
