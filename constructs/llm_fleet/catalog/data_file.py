"""Reads the catalog's data files."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load(name: str) -> Any:
    """Return the `facts` of `catalog/data/<name>.json`, parsed once a process.

    Every data file is an object with `source` (where the facts come from), `checked` (ISO date) and `facts`.
    JSON, not YAML: parsing is on the path of every synth.
    """
    document = json.loads(files("llm_fleet.catalog").joinpath("data", f"{name}.json").read_text(encoding="utf-8"))
    return document["facts"]
