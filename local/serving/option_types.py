"""Numbers on the command line, and the ranges that they are refused outside of."""

import argparse
import re

_LAST_PORT = 65535
_NUMBER = re.compile(r"\d+(\.\d+)?")


def port(text: str) -> int:
    """Return a port's number; 0 is any free one."""
    if not text.isdecimal() or int(text) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is not a port: 0 to {_LAST_PORT}")
    return int(text)


def count(text: str) -> int:
    """Return a whole number from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number: 0 or more")
    return int(text)


def seconds(text: str) -> float:
    """Return a number from 0."""
    if not _NUMBER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text} is not a number: 0 or more, as 0.5")
    return float(text)


def scale(text: str) -> float:
    """Return a number above 0."""
    if seconds(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a scale: more than 0")
    return float(text)
