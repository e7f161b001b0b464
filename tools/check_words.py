"""Reports the words that docs/style.md replaces, common misspellings and British spellings: part of `make lint`.

`python -m tools.check_words [PATH …]` checks these files, by default every file of the product that git has. The words
are the first column of the table in docs/style.md, with the second as the suggestion; codespell finds them. A phrase is
found within a line. Parts of names are words, too: `reported_settings` is reported, `unreported` is not.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Final

from codespell_lib import main as codespell

from tools.synth_environment import ROOT

PAGE: Final = ROOT / "docs" / "style.md"
_CHECKED: Final = (
    *("README.md", "CONTRIBUTING.md", "Makefile", "mkdocs.yml", "app.py", "pyproject.toml"),
    *("constructs", "stacks", "lifecycle_scripts", "docs", "examples", "local", "tools", "tests"),
)
_NOT_CHECKED: Final = (
    # The table of words itself, texts of others, and data that is generated or recorded.
    *("docs/style.md", "*.json", "*.svg", "*.lock", "*.csv", "*.jsonl", "*.patch", "*.txt", "*.gz", "*.png"),
)

_ALLOWED: Final = r"(?i:(?<![a-z])stand[-_]ins?)"  # codespell:ignore stand
"""A stand-in (noun) is a program that replaces another one on this machine; also as a part of names."""
_ID: Final = r"\b(?:[a-z]+-)?[0-9a-f]{8,}\b"
"""An id with a random part, such as `vpc-0123456789abcdef0`."""


def table(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word or phrase of the table of words in the Markdown `text`, and what is written in its place."""
    rows = text.partition("| not | but | why |\n|---|---|---|\n")[2].partition("\n\n")[0]
    for row in rows.splitlines():
        words, instead, reason = (cell.strip() for cell in row.strip("|").split("|"))
        for word in words.split(", "):
            yield word, f"{instead} ({reason})"


def pattern(words: Sequence[str]) -> str:
    """Return the expression by which codespell splits a line into words, the phrases among `words` whole."""
    phrases = sorted((word for word in words if " " in word), key=len, reverse=True)
    return "|".join([_ALLOWED, _ID, *(rf"\b{re.escape(phrase)}\b" for phrase in phrases), r"[A-Za-z][A-Za-z'-]*"])


def checked_files() -> list[str]:
    """Return the files of the product that git has and that are written by hand, relative to the root."""
    listed = subprocess.run(["git", "ls-files", "--", *_CHECKED], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def check(files: Sequence[str], *, builtin: str) -> int:
    """Check `files` for the words of the table and of codespell's dictionaries `builtin`; return the number found."""
    words = dict(table(PAGE.read_text(encoding="utf-8")))
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as dictionary:
        # The comma at the end marks the text as a suggestion, which `--write-changes` does not apply.
        dictionary.writelines(f"{word}->{instead},\n" for word, instead in words.items())
        dictionary.flush()
        return codespell(
            "--dictionary=-",
            f"--dictionary={dictionary.name}",
            f"--builtin={builtin}",
            f"--regex={pattern(list(words))}",
            # As Slurm and CloudFormation write it; parts of names of the CDK and of boto3.
            "--ignore-words-list=cancelled,ivalidation,entrys",
            f"--skip={','.join(_NOT_CHECKED)}",
            *files,
        )


def main(arguments: Sequence[str]) -> int:
    """Check the named files, or all; print what was found and return the number of words."""
    files = list(arguments) or checked_files()
    tests = [file for file in files if file.startswith("tests/")]
    # Tests misspell keys on purpose.
    found = check(tests, builtin="en-GB_to_en-US") if tests else 0
    others = [file for file in files if not file.startswith("tests/")]
    return found + (check(others, builtin="clear,en-GB_to_en-US") if others else 0)


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
