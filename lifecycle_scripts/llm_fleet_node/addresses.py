"""All IPv4 addresses of this node."""

from __future__ import annotations

import re
from pathlib import Path

_ADDRESS = re.compile(r"\|--\s+(\d+\.\d+\.\d+\.\d+)")
_OWN = "/32 host LOCAL"


def local_addresses(fib_trie: Path) -> frozenset[str]:
    """Return the addresses of all interfaces except loopback; empty if the kernel's table cannot be read.

    A node has one address for each network card, and the platform can list any of them. Opening a socket returns only
    one address, and 127.0.0.1 while the network comes up. Reading the table needs no other program.
    """
    try:
        lines = fib_trie.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return frozenset()
    found: set[str] = set()
    last = ""
    for line in lines:
        match = _ADDRESS.search(line)
        if match:
            last = match.group(1)
        elif line.strip() == _OWN and not last.startswith("127."):
            found.add(last)
    return frozenset(found)
