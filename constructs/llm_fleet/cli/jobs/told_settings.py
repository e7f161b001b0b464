"""Takes `NAME=VALUE` of the command line apart."""

from collections.abc import Sequence


def pairs(words: Sequence[str]) -> dict[str, str | None]:
    """Return the values by name; `None` for a word without `=`."""
    parts = [word.partition("=") for word in words]
    return {name: value if equals else None for name, equals, value in parts}


def told_settings(words: Sequence[str]) -> dict[str, str]:
    """Return the settings of `--set` by name; one without `=` is empty."""
    return {name: value or "" for name, value in pairs(words).items()}
