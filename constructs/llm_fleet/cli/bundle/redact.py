"""Finds secrets in text and replaces them."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

GONE = "<redacted>"

NAME_FORM = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|(?:storage|db|root|admin|bind)[_-]?(?:pass|pw)(?![a-z])|authtok"
    r"|secrets?(?!s?manager)|token(?!i[sz]|s)|api[_-]?keys?|access[_-]?keys?"
    r"|(?:private|signing|encryption|master|license|auth|account|session|shared|munge)[._-]?keys?|credentials?"
    r"|authorization|cookie|keytab|webhooks?)"
)
"""Parts of names of secrets. `tokens` and `tokenizer` are names of language models."""

_SIGNED = r"X-Amz-(?:Signature|Credential|Security-Token)|Signature|AWSAccessKeyId"
_REST = rf"(?!{GONE})[^&\s\"'\\<>;,]+"

FORMS: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"(?i)\b(bearer|basic|negotiate)[ \t]+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {GONE}"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), GONE),
    (re.compile(r"\b(?:FwoGZXIvYXdz|FQoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9/+=%-]{16,}"), GONE),
    (re.compile(r"\bAQAEA[A-Za-z0-9_-]{40,}={0,2}"), GONE),  # of the instance metadata service
    (re.compile(r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*"), GONE),
    (
        re.compile(
            r"\b(?:hf|ghp|gho|ghu|ghs|ghr|glpat|github_pat|api_org|nvapi|sk|pk|xox[abeoprs])[_-][A-Za-z0-9_-]{16,}"
        ),
        GONE,
    ),
    (re.compile(r"\bAIza[A-Za-z0-9_-]{35}"), GONE),
    (re.compile(r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,}"), GONE),
    # Chats.
    (re.compile(r"(?i)(https://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/)[\w/-]+"), rf"\1{GONE}"),
    (re.compile(r"(?i)(https://[\w.-]*(?:webhook\.office\.com|logic\.azure\.com)[\w:.-]*/)\S+"), rf"\1{GONE}"),
    (re.compile(r"(?i)(https://[\w.-]*discord(?:app)?\.com/api/webhooks/)[\w/-]+"), rf"\1{GONE}"),
    # Signed requests: in URLs, within HTML and JSON, and as a header.
    (re.compile(rf"(?i)\b((?:{_SIGNED})(?:=|%3D)){_REST}"), rf"\1{GONE}"),
    (re.compile(r"(?i)([?&]sig=)[^&\s\"']+"), rf"\1{GONE}"),
    # URLs with credentials.
    (re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://)[^/\s@\"']+@"), rf"\1{GONE}@"),
    (re.compile(r"(?i)(\bjdbc:oracle:\w+:[^/\s@]{1,60}/)[^@\s]+@"), rf"\1{GONE}@"),
    # Command lines.
    (re.compile(r"(\s-u[ \t]+)\S+:\S+"), rf"\1{GONE}"),
    (
        re.compile(r"(\b(?:docker|podman|helm|oras)[^\n|;]{0,40} login\b[^\n|;]{0,200}? -p[ \t=]*)[^\s=]\S*"),
        rf"\1{GONE}",
    ),
    (re.compile(r"(\bsshpass[ \t]+-p[ \t]*)\S+"), rf"\1{GONE}"),
    (re.compile(r"(\b(?:mysql|mariadb)[\w-]*[ \t][^\n|;]{0,200}?(?<=\s)-p)(?=[^\s-])[^\s]+"), rf"\1{GONE}"),
    (
        re.compile(r"((?<![\w.-])[\w.-]{1,60}:)[^\s:'\"]{1,200}(['\"]?[ \t]*\|[ \t]*(?:sudo[ \t]+)?chpasswd)"),
        rf"\1{GONE}\2",
    ),
    (re.compile(r"(\bwandb[ \t]+login[ \t]+(?:--\S+[ \t]+)*)[^\s-]\S*"), rf"\1{GONE}"),
    # Configuration files.
    (re.compile(r"(?i)(\blogin[ \t]+\S+[ \t]+password[ \t]+)\S+"), rf"\1{GONE}"),  # .netrc
    (re.compile(r"(?im)((?:^|\s)(?:bindpw|rootpw)[ \t]+)\S+"), rf"\1{GONE}"),
    (re.compile(r"(?i)(\\?\"auth\\?\"[ \t]*:[ \t]*\\?\")[A-Za-z0-9+/=]{8,}"), rf"\1{GONE}"),  # Docker's config.json
    (re.compile(r"(?i)(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?['\"])[^'\"\n]+"), rf"\1{GONE}"),
    (re.compile(r"\$(?:1|5|6|7|y|2[abxy]|argon2id?)\$[./A-Za-z0-9$=,+-]{8,}"), GONE),
)
"""Secrets that are recognized by their form, or by the text in front of them."""

_FORTY = re.compile(r"(?<![A-Za-z0-9/+_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])")
"""The form of an AWS secret access key; a hexadecimal digest has it too, without capital letters."""
_LONG = re.compile(r"(?<![A-Za-z0-9/+_.-])[A-Za-z0-9/+]{43,}={0,2}(?![A-Za-z0-9_-])")
"""Base64 of 32 bytes or more: a munge key, or a line of a private key whose first line is not in the log."""
_NO_SECRET = re.compile(r"[A-Za-z0-9]*[0-9A-F]{8}|AAAA(?:[BC]3NzaC1|E2VjZHNh)\S*")
"""The CDK's logical ids end in a digest of eight characters; the others are SSH public keys."""
_MOST_IN_WORDS = 0.4
"""Share of adjacent letters that are both lowercase: in random text a sixth, in names made of words far more."""
_SIGNS_A_SLASH = 16
"""Base64 has one slash in 64 characters; a path has more."""
_KINDS: tuple[Callable[[str], bool], ...] = (str.isupper, str.islower, str.isdigit)


def without_forms(text: str) -> str:
    """Return `text` without secrets that are recognized by their form."""
    for pattern, instead in FORMS:
        text = pattern.sub(instead, text)
    text = _FORTY.sub(lambda found: GONE if _has_all_kinds(found[0]) else found[0], text)
    return _LONG.sub(lambda found: GONE if _is_by_chance(found[0]) else found[0], text)


def _has_all_kinds(text: str) -> bool:
    return all(any(kind(sign) for sign in text) for kind in _KINDS)


def _is_by_chance(text: str) -> bool:
    """Whether a text looks random: neither a path, nor a name made of words, nor a digest."""
    if not _has_all_kinds(text) or text.count("/") * _SIGNS_A_SLASH > len(text) + _SIGNS_A_SLASH:
        return False
    if _NO_SECRET.fullmatch(text):
        return False
    small = sum(first.islower() and second.islower() for first, second in pairwise(text))
    return small < _MOST_IN_WORDS * len(text)


_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(r"[A-Za-z0-9+/=]{16,}")
_LAST = re.compile(r"[A-Za-z0-9+/=]+")
"""The last line of a key may be short."""


def without_private_keys(text: str) -> str:
    """Return `text` without private keys in PEM form."""
    return _without_tails(_BLOCK.sub(GONE, text))


def _without_tails(text: str) -> str:
    """Remove the lines of a private key whose first line is missing."""
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


_WORD = r"[\w.-]{0,60}"
_ARN = re.compile(r"\barn:aws[\w-]*:[\w-]+:[\w-]*:\d*:[^\s\"'\\,;}\]]+")
"""An ARN only names a secret, so it is kept."""
_PUT_ASIDE = re.compile("\x00(\\d+)\x00")
_KEPT_VALUE = r"(?:\x00|<redacted>|(?:null|none|true|false|~)[\s,]*(?:$|\}))"
_KEY = re.compile(NAME_FORM, re.IGNORECASE)
_KEPT = re.compile(_KEPT_VALUE, re.IGNORECASE)
_OPENS = re.compile(rf"(?i)[\"']?[\w.-]{{0,60}}?{NAME_FORM}{_WORD}[\"']?[ \t]*:[ \t]*(?:[|>][+-]?\d?)?[ \t]*$")
"""A line of YAML whose value is in the indented lines below it."""
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
"""A list of name-value pairs, as in environments of containers and parameters of stacks."""
_NAMES_A_VALUE = re.compile(r"(.*?)(?:[nN]ame|[kK]ey)")
_ACCOUNT = re.compile(r"(?<!\d)\d{12}(?!\d)")


class Redactor:
    """Removes secrets and, with `mask_accounts`, account ids: the same account always gets the same replacement."""

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
        """Return a JSON value without secrets: by the names of keys, and within each text."""
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
    """Return whether the value of `key` is likely a secret."""
    return bool(_KEY.search(key))


def _values_of_secrets(members: Mapping[Any, Any]) -> frozenset[str]:
    """Return the keys of name-value pairs that hold a secret: `Value` next to `Name`, `ParameterValue` and so on."""
    found: set[str] = set()
    for key, member in members.items():
        words = _NAMES_A_VALUE.fullmatch(str(key))
        if words and isinstance(member, str) and is_secret_name(member):
            found |= {f"{words[1]}value", f"{words[1]}Value"}
    return frozenset(found)


def _without_blocks(text: str) -> str:
    """Return `text` without the indented YAML lines below the name of a secret, which are its value.

    A timestamp or a comment sign may precede the name if the lines below have one of the same width.
    """
    kept: list[str] = []
    column: int | None = None
    for line in text.split("\n"):
        if column is not None and _is_additional_in(line, column):
            if kept[-1].strip() != GONE:
                kept.append(" " * (column + 2) + GONE)
            continue
        opens = _OPENS.search(line) if line.rstrip()[-1:] in (":", "|", ">", "-", "+") else None
        column = opens.start() if opens else None
        kept.append(line)
    return "\n".join(kept)


def _is_additional_in(line: str, column: int) -> bool:
    """Whether a line belongs to a name at `column`; an item of a list may be at the same column."""
    return bool(line.strip()) and (line[column : column + 1].isspace() or line[column : column + 2] == "- ")


def _all_gone(value: Any) -> Any:
    """Return `value` with each secret replaced, at any depth; ARNs and numbers stay as they are."""
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
