"""A program's arguments as a table of names: `--name value`, `--name=value`, `--flag`; unknown arguments are refused.

Source: assumption model-servers-as-in-their-sources
"""

from collections.abc import Collection, Sequence


class SettingRefused(Exception):
    """The server does not start with this setting; the message is the server's."""


def read_words(words: Sequence[str], *, valued: Collection[str], flags: Collection[str]) -> dict[str, str]:
    """Return names, in snake case, to values; a flag's value is `true`. Raises `SettingRefused`."""
    given: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        name = name.replace("-", "_")
        if not word.startswith("--") or name not in (*valued, *flags):
            raise SettingRefused(f"error: unexpected argument '{word}' found")
        if name in flags:
            given[name] = value or "true"
        elif equals:
            given[name] = value
        elif rest:
            given[name] = rest.pop(0)
        else:
            raise SettingRefused(f"error: a value is required for '{word}' but none was supplied")
    return given
