"""Takes private keys out of text, also those of which a log has not kept the first line, or the last."""

import re

from llm_fleet.cli.bundle.secret_forms import GONE

_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"[A-Za-z0-9+/=]{16,}")
_LAST = re.compile(r"[A-Za-z0-9+/=]+")
"""The last line of a key may be short."""


def without_private_keys(text: str) -> str:
    """Return `text` without them."""
    return _without_tails(_BLOCK.sub(GONE, text))


def _without_tails(text: str) -> str:
    """Take out what stands above an end whose beginning is missing."""
    if not _END.search(text):
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if _END.search(line):
            lines[number] = _END.sub(GONE, line)
            _clear_above(lines, number)
    return "\n".join(lines)


def _clear_above(lines: list[str], number: int) -> None:
    form = _LAST
    for above in range(number - 1, -1, -1):
        before, space, word = lines[above].rpartition(" ")
        if not form.fullmatch(word):
            return
        lines[above] = f"{before}{space}{GONE}"
        form = _BODY
