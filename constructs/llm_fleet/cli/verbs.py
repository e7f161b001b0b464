"""Where a command adds itself."""

import argparse
from typing import Protocol


class Verbs(Protocol):
    """What argparse's `add_subparsers` returns: its own class for that is private."""

    def add_parser(self, name: str, *, help: str) -> argparse.ArgumentParser:
        """Return a parser for the command `name`."""
        ...
