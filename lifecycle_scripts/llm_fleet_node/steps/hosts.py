"""The names of the node and its controllers resolve to their addresses, also without VPC DNS."""

from __future__ import annotations

from llm_fleet_node import names
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.marked_block import put_block
from llm_fleet_node.node import Node
from llm_fleet_node.own_address import own_address
from llm_fleet_node.step import COMPUTE, EVERY_ROLE, LOGIN, ON_CREATE, Step

_BLOCK = "names"
_LONGEST = 63
"""Maximum characters of a full name: the bootstrap of libfabric and the Neuron runtime fails with longer ones."""
_SECONDS = 5.0
"""Timeout of DNS, which is queried only for names that are not in /etc/hosts."""


def _apply(node: Node) -> None:
    own = names.own_name(node.host)
    if not own:
        fail(Code.HOST_NAME, "the node has no host name but localhost", final=True)
    address = own_address(node, own)
    if address is None:
        fail(Code.HOST_NAME, f"{own} has only a loopback address")
    lines: list[str] = []
    # The first entry is used: the image may contain an older one, or 127.0.1.1, which only this node can reach.
    if _without_our_block(node, own)[:1] != (address,):
        lines.append(f"{address} {_all_names(own)}")
    for controller, name in _controllers(node):
        if name != own and _without_our_block(node, name)[:1] != (controller,):
            lines.append(f"{controller} {name}")
    put_block(node.host, names.HOSTS, _BLOCK, "\n".join(lines), first=True)


def _verify(node: Node) -> None:
    own = names.own_name(node.host)
    found = names.meaning(node.host, own, seconds=_SECONDS)
    if found[:1] == () or found[0] not in node.identity.addresses:
        addresses = ", ".join(node.identity.addresses) or "none"
        reported = ", ".join(found) or f"nothing within {_SECONDS:g} s"
        fail(Code.HOST_NAME, f"{own} resolves to {reported}, but this node's addresses are {addresses}")
    whole = _whole_name(node, own)
    if len(whole) > _LONGEST:
        fail(Code.HOST_NAME_TOO_LONG, f"{whole} has {len(whole)} characters, more than {_LONGEST}", final=True)
    _verify_controllers(node)


def _verify_controllers(node: Node) -> None:
    if not node.identity.controllers and node.hook == ON_CREATE and node.role in (COMPUTE, LOGIN):
        fail(Code.CONTROLLER_NAME, f"{node.places.resource_config} names no controller's address")
    for address, name in _controllers(node):
        found = names.meaning(node.host, name, seconds=_SECONDS)
        if found[:1] != (address,):
            reported = ", ".join(found) or f"nothing within {_SECONDS:g} s"
            fail(Code.CONTROLLER_NAME, f"the controller {name} resolves to {reported}, not to {address}")


def _controllers(node: Node) -> list[tuple[str, str]]:
    """Return the controllers' addresses and names. Only HyperPod derives node names from addresses."""
    if node.manifest.platform != "hyperpod":
        return []
    return [(address, "ip-" + address.replace(".", "-")) for address in node.identity.controllers]


def _without_our_block(node: Node, name: str) -> tuple[str, ...]:
    """Return the addresses of `name` without this step's own entry."""
    others = names.hosts_entries(node.host, without_block=_BLOCK)
    known = tuple(address for address, known_as in others if name in known_as)
    if known:
        return known
    if any(name in known_as for _, known_as in names.block_entries(node.host, _BLOCK)):
        return ()  # this step's entry is used: a later DNS answer changes nothing
    return names.resolve(node.host, name, seconds=_SECONDS)


def _all_names(own: str) -> str:
    short = own.split(".")[0]
    return own if short == own else f"{own} {short}"


def _whole_name(node: Node, own: str) -> str:
    """Return the name with its domain as in `hostname --fqdn`, without DNS."""
    if "." in own:
        return own
    for _, known_as in names.hosts_entries(node.host):
        if own in known_as and known_as[0].startswith(f"{own}."):
            return known_as[0]
    for line in (node.host.read("/etc/resolv.conf") or "").splitlines():
        words = line.split()
        if len(words) > 1 and words[0] in ("search", "domain") and words[1] != ".":
            return f"{own}.{words[1]}"
    return own


STEP = Step(
    name="hosts",
    summary="the host names of the node and its controllers resolve to their addresses",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    timeout=30,
    retries=2,
)
