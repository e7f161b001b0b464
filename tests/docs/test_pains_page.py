"""docs/pains.md: common problems of HyperPod users, with the message that reports each and the test that shows it."""

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.pains.reported import PAINS
from tools.synth_environment import ROOT

PAGE = ROOT / "docs" / "pains.md"
HEAD = """# Common HyperPod problems

Problems that users of HyperPod with Slurm report again and again in public threads (`#n` is an issue of
awslabs/awsome-distributed-ai). For each, this page says which part of llm-fleet reports it, quotes the message, and
names the test that shows it. This page is generated (`make golden`); the numbers are llm-fleet's own. These commands
report most of them:

```console
$ llm-fleet check fleet.yaml
$ llm-fleet logs -f fleet.yaml --failed
```

"""
Shown = tuple[int, str, str]
"""Number of the problem, words of the message, and the test that shows them."""


@cache
def shown() -> tuple[Shown, ...]:
    return tuple(found for path in sorted((ROOT / "tests").rglob("test_*.py")) for found in _in_file(path))


def _in_file(path: Path) -> Iterator[Shown]:
    text = path.read_text(encoding="utf-8")
    if "tests.pains.reported" not in text:
        return
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "reported":
                    yield _read(call, f"{path.relative_to(ROOT)}::{function.name}")


def _read(call: ast.Call, test: str) -> Shown:
    pain, _, words = call.args
    return ast.literal_eval(pain), ast.literal_eval(words), test


def page() -> str:
    parts = [HEAD]
    for number, pain in PAINS.items():
        parts.append(f"## {number}. {pain.title}\n\nReported by: {pain.where}. Users' reports: {pain.threads}.\n\n")
        for found, words, test in shown():
            if found == number:
                parts.append(f"- “{words}” (`{test}`)\n")
        parts.append("\n")
    return "".join(parts).rstrip() + "\n"


@pytest.mark.parametrize("pain", PAINS, ids=lambda number: f"{number}-{PAINS[number].title[:30]}")
def test_each_is_shown_by_a_test_with_its_words(pain: int):
    assert [found for found in shown() if found[0] == pain] != []


def test_generated_page_is_current():
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "the tests have changed: run `make golden`"
