"""Takes secrets out of text before it leaves this machine. What looks like one goes: a name too many does no harm."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from llm_fleet.cli.bundle.private_keys import without_private_keys
from llm_fleet.cli.bundle.secret_forms import GONE, NAME_FORM, without_forms

_WORD = r"[\w.-]{0,60}"
_ARN = re.compile(r"\barn:aws[\w-]*:[\w-]+:[\w-]*:\d*:[^\s\"'\\,;}\]]+")
"""An ARN only names a secret, so none is looked for in it."""
_PUT_ASIDE = re.compile("\x00(\\d+)\x00")
_KEPT_VALUE = r"(?:\x00|<redacted>|(?:null|none|true|false|~)[\s,]*(?:$|\}))"
_KEY = re.compile(NAME_FORM, re.IGNORECASE)
_KEPT = re.compile(_KEPT_VALUE, re.IGNORECASE)
_OPENS = re.compile(rf"(?i)[\"']?[\w.-]{{0,60}}?{NAME_FORM}{_WORD}[\"']?[ \t]*:[ \t]*(?:[|>][+-]?\d?)?[ \t]*$")
"""A line of YAML whose value is in the lines below, further in."""
_ASSIGNED = re.compile(
    rf"(?im)({NAME_FORM}{_WORD}\\?[\"']?[ \t]*(?:(?P<equals>:=|=>|=)|:)[ \t]*)(?!\\?[\"']?{_KEPT_VALUE})"
    r"(?P<value>\\?\"(?:[^\"\\]|\\.)*\"?|'[^'\n]*'?|(?(equals)\S+|\S[^\n]*))"
)
_OPTION = re.compile(
    rf"(?im)((?:^|[\s\"'])--?[\w-]{{0,40}}?{NAME_FORM}[\w-]{{0,40}}[ \t]+)(?!-)(?P<value>\"[^\"]*\"|'[^']*'|\S+)"
)
_PAIR = re.compile(
    rf"(?i)((?:name|key)(?P<quote>\\?[\"']?)[ \t]*:[ \t]*\\?[\"']?{_WORD}{NAME_FORM}{_WORD}\\?[\"']?"
    r"(?:[\s,#-]{0,40}|[ \t]*\n[^\n]{0,60}?\s)\\?[\"']?[a-z]{0,20}value(?P=quote)[ \t]*:[ \t]*)"
    rf"(?!\\?[\"']?{_KEPT_VALUE})(?P<value>\\?\"(?:[^\"\\]|\\.)*\"?|'[^'\n]*'?|\S[^\n]*)"
)
"""A list of settings has name and value beside each other, as containers' environments and parameters of stacks do."""
_NAMES_A_VALUE = re.compile(r"(.*?)(?:[nN]ame|[kK]ey)")
_ACCOUNT = re.compile(r"(?<!\d)\d{12}(?!\d)")


class Redactor:
    """Takes secrets out, and account ids where it is told to, the same id always for the same account."""

    def __init__(self, *, mask_accounts: bool = False) -> None:
        """Keep account ids unless `mask_accounts`."""
        self._mask_accounts = mask_accounts
        self._accounts: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        text = without_private_keys(text.replace("\x00", ""))
        names = dict(enumerate(_ARN.findall(text)))
        numbers = iter(names)
        text = _ARN.sub(lambda _: f"\x00{next(numbers)}\x00", text)
        text = _without_blocks(text)
        text = without_forms(text)
        text = _PAIR.sub(_assigned, text)
        text = _ASSIGNED.sub(_assigned, text)
        text = _OPTION.sub(_assigned, text)
        text = _PUT_ASIDE.sub(lambda found: names[int(found[1])], text)
        return _ACCOUNT.sub(self._account, text) if self._mask_accounts else text

    def data(self, value: Any) -> Any:
        """Return what JSON can hold without secrets: by the names of keys, and within each text."""
        if isinstance(value, Mapping):
            members = cast("Mapping[Any, Any]", value)
            secret = _values_of_secrets(members)
            return {self.text(str(key)): self._member(str(key), member, secret) for key, member in members.items()}
        if isinstance(value, list | tuple):
            return [self.data(one) for one in cast("Sequence[Any]", value)]
        return self.text(value) if isinstance(value, str) else value

    def _member(self, key: str, value: Any, secret: frozenset[str]) -> Any:
        return _all_gone(value) if key in secret or is_secret_name(key) else self.data(value)

    def _account(self, found: re.Match[str]) -> str:
        return self._accounts.setdefault(found[0], f"<account-{len(self._accounts) + 1}>")


def redacted(text: str) -> str:
    """Return `text` without secrets; account ids stay."""
    return Redactor().text(text)


def is_secret_name(key: str) -> bool:
    """Return whether what stands under `key` is likely a secret."""
    return bool(_KEY.search(key))


def _values_of_secrets(members: Mapping[Any, Any]) -> frozenset[str]:
    """Return the keys that have a secret by the name beside them: `Name` and `Value`, `ParameterKey` and so on."""
    found: set[str] = set()
    for key, member in members.items():
        words = _NAMES_A_VALUE.fullmatch(str(key))
        if words and isinstance(member, str) and is_secret_name(member):
            found |= {f"{words[1]}value", f"{words[1]}Value"}
    return frozenset(found)


def _without_blocks(text: str) -> str:
    """Return `text` without the lines below a secret's name that are its value, as YAML has them.

    Before the name may stand a clock or a comment's sign, as long as those below have one of the same width.
    """
    kept: list[str] = []
    column: int | None = None
    for line in text.split("\n"):
        if column is not None and _is_further_in(line, column):
            if kept[-1].strip() != GONE:
                kept.append(" " * (column + 2) + GONE)
            continue
        opens = _OPENS.search(line) if line.rstrip()[-1:] in (":", "|", ">", "-", "+") else None
        column = opens.start() if opens else None
        kept.append(line)
    return "\n".join(kept)


def _is_further_in(line: str, column: int) -> bool:
    """Whether a line belongs to a name that stands in `column`; an item of a list may stand below it."""
    return bool(line.strip()) and (line[column : column + 1].isspace() or line[column : column + 2] == "- ")


def _all_gone(value: Any) -> Any:
    """Return a secret's value without it, however deep; ARNs and numbers of settings stay as they are."""
    if isinstance(value, Mapping):
        return {key: _all_gone(member) for key, member in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_all_gone(one) for one in cast("Sequence[Any]", value)]
    if value is None or isinstance(value, bool):
        return value
    return value if _ARN.match(str(value)) or _KEPT.match(str(value)) else GONE


def _assigned(found: re.Match[str]) -> str:
    name, value = found[1], found["value"]
    if GONE in value and not value.replace(GONE, "").strip("\\\"' ,"):
        return found[0]
    quote = value[: len(value) - len(value.lstrip("\\\"'"))]
    return f"{name}{quote}{GONE}{quote}"
