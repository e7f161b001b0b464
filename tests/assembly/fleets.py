"""Fleets with typical combinations of features (`fleets.yaml`), and their assemblies."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import yaml

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet_stacks.fleet_stacks import FleetStacks
from tests.assembly.assembly import Assembly
from tools.synth_environment import cdk_context

ACCOUNT = "111122223333"


@cache
def _table() -> Mapping[str, Any]:
    return yaml.safe_load((Path(__file__).parent / "fleets.yaml").read_text(encoding="utf-8"))


def names() -> tuple[str, ...]:
    """The fleets of the table."""
    return tuple(_table()["fleets"])


def text_of(name: str, change: Mapping[str, Any] | None = None) -> str:
    """Return a fleet of the table as a fleet file, into which `change` is merged last."""
    whole: dict[str, Any] = {"fleet": name, "region": "us-west-2"}
    for part in _table()["fleets"][name]:
        merge(whole, _table()["parts"][part])
    merge(whole, change or {})
    return json.dumps(whole, indent=1)  # JSON is YAML without anchors


def merge(into: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Merge `part` into a fleet file; a key whose value is `None` is removed."""
    for key, value in part.items():
        if value is None:  # removed by a change
            into.pop(key, None)
        elif isinstance(value, dict):
            merge(into.setdefault(key, {}), cast("dict[str, Any]", value))
        else:
            into[key] = value


def synthesize(text: str, folder: Path, *, account: str = ACCOUNT) -> Assembly:
    """Synthesize the fleet file `text` into `folder` and read the assembly."""
    app = cdk.App(context=cdk_context(), outdir=str(folder))
    FleetStacks.make(app, parse_fleet(text), account=account)
    app.synth()
    return Assembly.read(folder, account=account)
