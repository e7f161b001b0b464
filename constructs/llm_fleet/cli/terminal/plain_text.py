"""Makes text of AWS and of nodes fit for a terminal."""

import unicodedata


def plain_text(text: str) -> str:
    """Return `text` on one line, without what would steer the terminal: a name or a log line must not."""
    return "".join(" " if sign in "\t\r\n" else sign for sign in text if sign in "\t\r\n" or not _steers(sign))


def plain_line(text: str) -> str:
    """Return one line of a log, tabs kept, without what would steer the terminal."""
    return "".join(sign for sign in text.rstrip("\r\n") if sign == "\t" or not _steers(sign))


def _steers(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp")
