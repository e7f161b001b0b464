"""Selects the node's address that other nodes use."""

from __future__ import annotations

import re
from typing import Optional

from llm_fleet_node.node import Node

_NAMED = re.compile(r"ip-(\d+)-(\d+)-(\d+)-(\d+)")


def own_address(node: Node, name: str) -> Optional[str]:
    """Return the address in the platform's list, otherwise that in `name`, otherwise that of the default route.

    A node of an accelerated type has one address for each network card. `None` if it has no address.
    """
    own = node.identity.addresses
    listed = [neighbor.address for neighbor in node.identity.neighbors if neighbor.address in own]
    if listed:
        return listed[0]
    match = _NAMED.match(name)
    if match and ".".join(match.groups()) in own:
        return ".".join(match.groups())
    return _on_default_route(node) or (own[0] if own else None)


def _on_default_route(node: Node) -> Optional[str]:
    """Return the address of the default route's interface, from `/proc/net/route`."""
    rows = [line.split() for line in (node.host.read("/proc/net/route") or "").splitlines()[1:]]
    leads_out = {row[0] for row in rows if row[1] == "00000000"}
    networks = [(int(row[1], 16), int(row[7], 16)) for row in rows if row[0] in leads_out and row[7] != "00000000"]
    for address in node.identity.addresses:
        number = int.from_bytes(bytes(int(part) for part in address.split(".")), "little")
        if any(number & mask == network for network, mask in networks):
            return address
    return None
