"""Names of Unix sockets in folders with long names."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_name(place: Path) -> Generator[str]:
    """Yield a name of the socket `place`: its path may have more than 107 bytes, the maximum of the kernel."""
    folder = os.open(place.parent, os.O_PATH)
    try:
        yield f"/proc/self/fd/{folder}/{place.name}"
    finally:
        os.close(folder)
