"""The context that the CDK CLI would hand to an app."""

import json
from pathlib import Path
from typing import Any

_APP, _LOOKED_UP = "cdk.json", "cdk.context.json"


def app_context(folder: Path) -> dict[str, Any]:
    """Return the context of the nearest cdk.json, in `folder` or above it, with that of the cdk.context.json beside it.

    Its feature flags decide what templates look like, and only the CDK CLI hands them to an app by itself. Empty where
    there is no such file. Raises `ValueError` for one that is no JSON.
    """
    for place in (folder, *folder.parents):
        if (place / _APP).is_file():
            found = _read(place / _APP).get("context", {})
            looked_up = _read(place / _LOOKED_UP) if (place / _LOOKED_UP).is_file() else {}
            return {**found, **looked_up}
    return {}


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from error
