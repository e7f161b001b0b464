"""Writes docs/errors: a section for each error code, with the messages and remedies in the sources.

The values in a message are shown by their names in the sources, as `{count}`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from llm_fleet.rules.problem import AnyCode
from tools.make_docs_error_texts import Reported, reported_codes
from tools.make_docs_markdown import GENERATED
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "errors"
_MOST_EXAMPLES = 3
_WITHOUT = "The message depends on the value: it names the key, and the remedy says what to write.\n"


def pages(codes: Sequence[AnyCode]) -> Mapping[str, str]:
    """Return the text of every page by its file name: one page for each hundred codes."""
    reported = reported_codes()
    hundreds: dict[int, list[AnyCode]] = {}
    for code in sorted(codes, key=number):
        hundreds.setdefault(number(code) // 100 * 100, []).append(code)
    return {
        f"LF{hundred}.md": f"# LF{hundred} to LF{hundred + 99}\n\n{GENERATED}\n"
        "Words in braces are placeholders for the values in a real message. "
        "[Error codes](../error-codes.md) lists all codes.\n\n"
        + "\n".join(_section(code, reported.get(key(code), [])) for code in members)
        for hundred, members in hundreds.items()
    }


def number(code: AnyCode) -> int:
    """Return the number of a code."""
    return int(code.value.removeprefix("LF"))


def key(code: AnyCode) -> str:
    """Return the name of a code in the sources: `Code.EMPTY_FILE`."""
    return f"{type(code).__name__}.{code.name}"


def _section(code: AnyCode, reported: list[Reported]) -> str:
    examples = list(dict.fromkeys((one.message, one.remedy) for one in reported if one.message and one.remedy))
    parts = [f"## {code.value}\n\n{code.title_[0].upper()}{code.title_[1:]}.\n"]
    for message, remedy in examples[:_MOST_EXAMPLES]:
        parts.append(f"- {_escaped(message)}\n\n    remedy: {_escaped(remedy)}\n")
    if not examples:
        parts.append(_WITHOUT)
    return "\n".join(parts)


def _escaped(text: str) -> str:
    """Return `text` with Markdown's special characters escaped."""
    plain = " ".join(text.split())
    for sign in "\\`*_<>[]#|":
        plain = plain.replace(sign, f"\\{sign}" if sign != "<" else "&lt;")
    return plain


def write(codes: Sequence[AnyCode], place: Path = PLACE) -> None:
    """Write every page, and remove pages without codes."""
    place.mkdir(parents=True, exist_ok=True)
    made = pages(codes)
    for old in place.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (place / name).write_text(text, encoding="utf-8")
