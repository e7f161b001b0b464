"""The folder of programs that are installed once per user, outside projects."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return `llm-fleet` in XDG_CACHE_HOME (default: ~/.cache)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "llm-fleet"
