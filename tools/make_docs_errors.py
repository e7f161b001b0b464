"""Writes docs/errors: a section for each error code, with examples of its text.

The examples are texts of the tests (`tools/record_error_examples.py`). For a code without one, message and remedy are
from the sources, with a placeholder such as `<count>` for each value. A code with neither has only its title.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from llm_fleet.rules.problem import AnyCode
from tools.make_docs_error_texts import Reported, reported_codes
from tools.make_docs_markdown import GENERATED
from tools.synth_environment import ROOT

PLACE = ROOT / "docs" / "errors"
_MOST_EXAMPLES = 3
_EXAMPLES = ROOT / "tools" / "error_examples.json"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def pages(codes: Sequence[AnyCode]) -> Mapping[str, str]:
    """Return the text of every page by its file name: one page for each hundred codes."""
    reported, recorded = reported_codes(), examples()
    hundreds: dict[int, list[AnyCode]] = {}
    for code in sorted(codes, key=number):
        hundreds.setdefault(number(code) // 100 * 100, []).append(code)
    return {
        f"LF{hundred}.md": f"# LF{hundred} to LF{hundred + 99}\n\n{GENERATED}\n"
        "Keys and values are examples; a word in angle brackets is a placeholder for a value. "
        "[Error codes](../error-codes.md) lists all codes.\n\n"
        + "\n".join(_section(code, recorded.get(code.value, []), reported.get(key(code), [])) for code in members)
        for hundred, members in hundreds.items()
    }


def examples() -> Mapping[str, list[str]]:
    """Return the recorded texts of each code."""
    return json.loads(_EXAMPLES.read_text(encoding="utf-8"))


def number(code: AnyCode) -> int:
    """Return the number of a code."""
    return int(code.value.removeprefix("LF"))


def key(code: AnyCode) -> str:
    """Return the name of a code in the sources: `Code.EMPTY_FILE`."""
    return f"{type(code).__name__}.{code.name}"


def _section(code: AnyCode, recorded: list[str], reported: list[Reported]) -> str:
    texts = recorded or [_text(code, one) for one in reported if one.message and one.remedy]
    parts = [f"## {code.value}\n\n{code.title_[0].upper()}{code.title_[1:]}.\n"]
    parts += [f"```text\n{text}\n```\n" for text in list(dict.fromkeys(texts))[:_MOST_EXAMPLES]]
    return "\n".join(parts)


def _text(code: AnyCode, reported: Reported) -> str:
    """Return the text of an error as a terminal shows it, with placeholders for the values."""
    lines = f"[{code.value}]\n  {' '.join(reported.message.split())}\n  remedy:  {' '.join(reported.remedy.split())}"
    return _PLACEHOLDER.sub(lambda found: f"<{found[1].lower() or 'value'}>", lines)


def write(codes: Sequence[AnyCode], place: Path = PLACE) -> None:
    """Write every page, and remove pages without codes."""
    place.mkdir(parents=True, exist_ok=True)
    made = pages(codes)
    for old in place.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (place / name).write_text(text, encoding="utf-8")
