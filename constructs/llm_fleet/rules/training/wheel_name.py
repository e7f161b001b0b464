"""What the name of a wheel says of the Python that it is for (PEP 425 and 427)."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

_TAG = re.compile(r"(?P<kind>cp|py)3(?P<minor>[0-9]*)")


def fits_python(file: Mapping[str, Any], python: str) -> bool:
    """Return whether the locked `file` is for CPython `python`, e.g. `3.10`; a name that tells nothing passes."""
    parts = unquote(file["url"]).rsplit("/", 1)[-1].split("?")[0].removesuffix(".whl").split("-")
    if len(parts) < 5:
        return True
    return any(_fits(tag, "abi3" in parts[-2].split("."), python) for tag in parts[-3].split("."))


def _fits(tag: str, stable: bool, python: str) -> bool:
    """One for a stable ABI, or for Python's own code alone, is for all later ones too."""
    match = _TAG.fullmatch(tag)
    if match is None:
        return False
    ours, theirs = int(python.split(".")[1]), int(match["minor"] or 0)
    return theirs <= ours if stable or match["kind"] == "py" else theirs == ours
