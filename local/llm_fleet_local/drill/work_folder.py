"""The folder in which the drill keeps all its files."""

from __future__ import annotations

import os
from pathlib import Path


def work_folder() -> Path:
    """Return the drill's folder: LLM_FLEET_DRILL_DIR, or `.drill` in the checkout. Not on an overlay file system."""
    default = Path(__file__).parents[3] / ".drill"
    return Path(os.environ.get("LLM_FLEET_DRILL_DIR", default)).resolve()


def image_folder() -> Path:
    """Return the folder of images: LLM_FLEET_DRILL_CACHE, or `images` in the drill's folder."""
    return Path(os.environ.get("LLM_FLEET_DRILL_CACHE", work_folder() / "images")).absolute()
