"""The forms by which secrets are known: patterns, each with what stays of the text that it finds."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

GONE = "<redacted>"

NAME_FORM = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|(?:storage|db|root|admin|bind)[_-]?(?:pass|pw)(?![a-z])|authtok"
    r"|secrets?(?!s?manager)|token(?!i[sz]|s)|api[_-]?keys?|access[_-]?keys?"
    r"|(?:private|signing|encryption|master|license|auth|account|session|shared|munge)[._-]?keys?|credentials?"
    r"|authorization|cookie|keytab|webhooks?)"
)
"""What the name of a secret has in it. `tokens` and `tokenizer` are of language models."""

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
    # Signed requests: as URLs, within HTML and JSON, and as a header.
    (re.compile(rf"(?i)\b((?:{_SIGNED})(?:=|%3D)){_REST}"), rf"\1{GONE}"),
    (re.compile(r"(?i)([?&]sig=)[^&\s\"']+"), rf"\1{GONE}"),
    # Addresses with who asks in them.
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
    # Files of settings.
    (re.compile(r"(?i)(\blogin[ \t]+\S+[ \t]+password[ \t]+)\S+"), rf"\1{GONE}"),  # .netrc
    (re.compile(r"(?im)((?:^|\s)(?:bindpw|rootpw)[ \t]+)\S+"), rf"\1{GONE}"),
    (re.compile(r"(?i)(\\?\"auth\\?\"[ \t]*:[ \t]*\\?\")[A-Za-z0-9+/=]{8,}"), rf"\1{GONE}"),  # Docker's config.json
    (re.compile(r"(?i)(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?['\"])[^'\"\n]+"), rf"\1{GONE}"),
    (re.compile(r"\$(?:1|5|6|7|y|2[abxy]|argon2id?)\$[./A-Za-z0-9$=,+-]{8,}"), GONE),
)
"""Known by themselves, or by what stands before them."""

_FORTY = re.compile(r"(?<![A-Za-z0-9/+_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])")
"""The form of an AWS secret access key; a digest in hexadecimal has it too, without capitals."""
_LONG = re.compile(r"(?<![A-Za-z0-9/+_.-])[A-Za-z0-9/+]{43,}={0,2}(?![A-Za-z0-9_-])")
"""Base64 of 32 bytes and more: a key of munge, a line of a private key whose first line was not shipped."""
_NO_SECRET = re.compile(r"[A-Za-z0-9]*[0-9A-F]{8}|AAAA(?:[BC]3NzaC1|E2VjZHNh)\S*")
"""The CDK's logical ids end in a digest of eight signs; the others are SSH's public keys."""
_MOST_IN_WORDS = 0.4
"""Of two letters in a row that are both small: in names made of words far more, by chance a sixth."""
_SIGNS_A_SLASH = 16
"""A path has a slash more often than that, base64 one in 64 signs."""
_KINDS: tuple[Callable[[str], bool], ...] = (str.isupper, str.islower, str.isdigit)


def without_forms(text: str) -> str:
    """Return `text` without what is a secret by its form."""
    for pattern, instead in FORMS:
        text = pattern.sub(instead, text)
    text = _FORTY.sub(lambda found: GONE if _has_all_kinds(found[0]) else found[0], text)
    return _LONG.sub(lambda found: GONE if _is_by_chance(found[0]) else found[0], text)


def _has_all_kinds(text: str) -> bool:
    return all(any(kind(sign) for sign in text) for kind in _KINDS)


def _is_by_chance(text: str) -> bool:
    """Whether no person would write that: neither a path, nor a name of words, nor a digest."""
    if not _has_all_kinds(text) or text.count("/") * _SIGNS_A_SLASH > len(text) + _SIGNS_A_SLASH:
        return False
    if _NO_SECRET.fullmatch(text):
        return False
    small = sum(first.islower() and second.islower() for first, second in pairwise(text))
    return small < _MOST_IN_WORDS * len(text)
