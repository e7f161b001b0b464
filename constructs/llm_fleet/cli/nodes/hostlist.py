"""Reads Slurm's short form of many nodes, e.g. `ip-10-1-2-[3-5,9],login`."""

import re
from collections.abc import Iterator

_PART = re.compile(r"(?:[^,\[]|\[[^\]]*\])+")
_RANGE = re.compile(r"([^\[]*)\[([^\]]*)\](.*)")


def expanded(hostlist: str) -> list[str]:
    """Return the names of the nodes, as `scontrol show hostnames` would."""
    return [name for part in _PART.findall(hostlist) for name in _names(part)]


def _names(part: str) -> Iterator[str]:
    found = _RANGE.fullmatch(part)
    if found is None:
        yield part
        return
    before, ranges, after = found.groups()
    for number in _numbers(ranges):
        for name in _names(after):
            yield f"{before}{number}{name}"


def _numbers(ranges: str) -> Iterator[str]:
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            yield one
            continue
        # Slurm fills up with zeros: `[08-10]` is 08, 09, 10.
        for number in range(int(first), int(last or first) + 1):
            yield str(number).zfill(len(first))
