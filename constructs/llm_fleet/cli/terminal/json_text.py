"""What `--json` prints."""

import json
from datetime import date, datetime
from typing import Any


def print_json(told: Any) -> None:
    """Print `told`, times in ISO 8601, as one JSON document."""
    print(json.dumps(told, indent=2, default=_plain))


def _plain(value: object) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)
