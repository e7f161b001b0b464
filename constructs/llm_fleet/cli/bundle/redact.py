"""Takes secrets out of text before it leaves this machine. What looks like one goes: a name too many does no harm."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

GONE = "<redacted>"

_NAME = (
    r"(?:pass(?:word|wd|phrase)|pwd|secrets?(?!s?manager)|token(?!i[sz]|s)|api[_-]?keys?|access[_-]?keys?"
    r"|(?:private|signing|encryption|master|license|auth|account|session|shared|munge)[_-]?keys?|credentials?"
    r"|authorization|cookie|keytab|webhooks?)"
)
"""What the name of a secret has in it. `tokens` and `tokenizer` are of language models."""
_WORD = r"[\w.-]{0,60}"
_ARN = re.compile(r"\barn:aws[\w-]*:[\w-]+:[\w-]*:\d*:[^\s\"'\\,;}\]]+")
"""An ARN only names a secret, so none is looked for in it."""
_PUT_ASIDE = re.compile("\x00(\\d+)\x00")
_KEPT_VALUE = r"(?:\x00|<redacted>|(?:null|none|true|false|~)[\s,]*(?:$|\}))"
_KEY = re.compile(_NAME, re.IGNORECASE)
_KEPT = re.compile(_KEPT_VALUE, re.IGNORECASE)
_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_OPENS = re.compile(rf"(?i)[\"']?[\w.-]{{0,60}}?{_NAME}{_WORD}[\"']?[ \t]*:[ \t]*(?:[|>][+-]?\d?)?[ \t]*$")
"""A line of YAML whose value is in the lines below, further in."""
_ASSIGNED = re.compile(
    rf"(?im)({_NAME}{_WORD}\\?[\"']?[ \t]*(?:(?P<equals>:=|=>|=)|:)[ \t]*)(?!\\?[\"']?{_KEPT_VALUE})"
    r"(?P<value>\\?\"(?:[^\"\\]|\\.)*\"?|'[^'\n]*'?|(?(equals)\S+|\S[^\n]*))"
)
_OPTION = re.compile(
    rf"(?im)((?:^|[\s\"'])--?[\w-]{{0,40}}?{_NAME}[\w-]{{0,40}}[ \t]+)(?!-)(?P<value>\"[^\"]*\"|'[^']*'|\S+)"
)
_FORMS: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"(?i)\b(bearer|basic|negotiate)[ \t]+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {GONE}"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), GONE),
    (re.compile(r"\b(?:FwoGZXIvYXdz|FQoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9/+=%-]{16,}"), GONE),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*"), GONE),
    (
        re.compile(
            r"\b(?:hf|ghp|gho|ghu|ghs|ghr|glpat|github_pat|api_org|nvapi|sk|pk|xox[abeoprs])[_-][A-Za-z0-9_-]{16,}"
        ),
        GONE,
    ),
    (re.compile(r"(?i)(https://hooks\.slack\.com/(?:services|workflows)/)[\w/-]+"), rf"\1{GONE}"),
    (re.compile(r"(?i)(https://[\w.-]*(?:webhook\.office\.com|logic\.azure\.com)[\w:.-]*/)\S+"), rf"\1{GONE}"),
    (
        re.compile(
            r"(?i)([?&](?:X-Amz-(?:Signature|Credential|Security-Token)|Signature|AWSAccessKeyId|sig)=)[^&\s\"']+"
        ),
        rf"\1{GONE}",
    ),
    (re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://)[^/\s@\"']+@"), rf"\1{GONE}@"),
    (re.compile(r"(\s-u[ \t]+)\S+:\S+"), rf"\1{GONE}"),
    (re.compile(r"\$(?:1|5|6|7|y|2[abxy]|argon2id?)\$[./A-Za-z0-9$=,+-]{8,}"), GONE),
)
_FORTY = re.compile(r"(?<![A-Za-z0-9/+_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])")
"""The form of an AWS secret access key; a digest in hexadecimal has it too, without capitals."""
_ACCOUNT = re.compile(r"(?<!\d)\d{12}(?!\d)")


class Redactor:
    """Takes secrets out, and account ids where it is told to, the same id always for the same account."""

    def __init__(self, *, mask_accounts: bool = False) -> None:
        """Keep account ids unless `mask_accounts`."""
        self._mask_accounts = mask_accounts
        self._accounts: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        text = _BLOCK.sub(GONE, text.replace("\x00", ""))
        names = dict(enumerate(_ARN.findall(text)))
        numbers = iter(names)
        text = _ARN.sub(lambda _: f"\x00{next(numbers)}\x00", text)
        text = _without_blocks(text)
        for pattern, instead in _FORMS:
            text = pattern.sub(instead, text)
        text = _FORTY.sub(_unless_a_digest, text)
        text = _ASSIGNED.sub(_assigned, text)
        text = _OPTION.sub(_assigned, text)
        text = _PUT_ASIDE.sub(lambda found: names[int(found[1])], text)
        return _ACCOUNT.sub(self._account, text) if self._mask_accounts else text

    def data(self, value: Any) -> Any:
        """Return what JSON can hold without secrets: by the names of keys, and within each text."""
        if isinstance(value, Mapping):
            members = cast("Mapping[Any, Any]", value)
            return {self.text(str(key)): self._member(str(key), member) for key, member in members.items()}
        if isinstance(value, list | tuple):
            return [self.data(one) for one in cast("Sequence[Any]", value)]
        return self.text(value) if isinstance(value, str) else value

    def _member(self, key: str, value: Any) -> Any:
        return _all_gone(value) if is_secret_name(key) else self.data(value)

    def _account(self, found: re.Match[str]) -> str:
        return self._accounts.setdefault(found[0], f"<account-{len(self._accounts) + 1}>")


def redacted(text: str) -> str:
    """Return `text` without secrets; account ids stay."""
    return Redactor().text(text)


def is_secret_name(key: str) -> bool:
    """Return whether what stands under `key` is likely a secret."""
    return bool(_KEY.search(key))


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


def _unless_a_digest(found: re.Match[str]) -> str:
    text = found[0]
    kinds: tuple[Callable[[str], bool], ...] = (str.isupper, str.islower, str.isdigit)
    return GONE if all(any(kind(sign) for sign in text) for kind in kinds) else text
