"""Types of numbers on the command line, with their ranges."""

import argparse
import re

_LAST_PORT = 65535
_NUMBER = re.compile(r"\d+(\.\d+)?")


def port(text: str) -> int:
    """Parse a port; 0 is any free one."""
    if not text.isdecimal() or int(text) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is not a port; write 0 to {_LAST_PORT}")
    return int(text)


def count(text: str) -> int:
    """Parse a whole number from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number; write 0 or more")
    return int(text)


def seconds(text: str) -> float:
    """Parse a number from 0."""
    if not _NUMBER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text} is not a number; write 0 or more, e.g. 0.5")
    return float(text)


def scale(text: str) -> float:
    """Parse a number above 0."""
    if seconds(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a scale; write a number above 0")
    return float(text)
