"""Public SSH keys, as a line of `authorized_keys` has them."""

import base64
import binascii

from llm_fleet.catalog.nodes import node_user_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved

_LENGTH_BYTES = 4
"""A key's data begins with its type, preceded by the type's length in so many bytes (RFC 4253, 6.6)."""


def check_ssh_key(key: str) -> list[Problem]:
    """Return what is wrong with `key`; it is judged by its form, not by what it opens."""
    fault = None if is_unresolved(key) else _fault(key)
    if fault is None:
        return []
    return [
        Problem(
            code=Code.USER_KEY,
            message=f"this is no public SSH key: {fault}",
            remedy="write the one line of the file that ends with `.pub`, e.g. that of `ssh-keygen -t ed25519`",
            # Never the text itself: it may be a private key.
            value=f"{key[:20]}…" if "PRIVATE" not in key else "(a private key, not shown)",
            allowed=", ".join(node_user_facts().key_types),
        )
    ]


def _fault(key: str) -> str | None:
    if "PRIVATE KEY" in key:
        return "it is a private one, which must never leave its owner's machine; make a new pair if it did"
    if "\n" in key.strip() or "\r" in key:
        return "it has more than one line"
    kind, _, rest = key.strip().partition(" ")
    if kind not in node_user_facts().key_types:
        return "it does not begin with the type of a key"
    words = rest.split()
    return _data_fault(kind, words[0] if words else "")


def _data_fault(kind: str, data: str) -> str | None:
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "what follows its type is not whole; was it cut off?"
    length = int.from_bytes(decoded[:_LENGTH_BYTES], "big")
    named = decoded[_LENGTH_BYTES : _LENGTH_BYTES + length]
    if named != kind.encode() or len(decoded) <= _LENGTH_BYTES + length:
        return f"what follows is no key of type {kind}; was it cut off?"
    return None
