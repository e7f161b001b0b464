"""botocore's models of the services are read once a process.

moto's backends, its answers and the clients here have a loader each, and reading the model of EC2 takes a while.

Source: emulation, speed alone
"""

from functools import cache
from typing import Any

from botocore.loaders import JSONFileLoader

_read = JSONFileLoader.load_file
_reader = JSONFileLoader()


def install() -> None:
    """Let all loaders share what one has read."""
    JSONFileLoader.load_file = _load_file


def _load_file(self: JSONFileLoader, file_path: str) -> Any:
    return _shared(file_path)


@cache
def _shared(file_path: str) -> Any:
    return _read(_reader, file_path)
