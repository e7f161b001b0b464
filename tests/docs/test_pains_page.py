"""docs/pains.md: what users suffer from, where it is told and in which words, with the test that shows it."""

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.pains.reported import PAINS
from tools.synth_environment import ROOT

PAGE = ROOT / "docs" / "pains.md"
HEAD = """# What users of HyperPod suffer from, and where it is told

Users of HyperPod with Slurm keep running into the same things; the threads are public (`#n` is of
awslabs/awsome-distributed-ai). For each, this page says where llm-fleet shows it, in which words, and which test
proves that. It is generated (`make golden`); the numbers are our own.

"""
Shown = tuple[int, str, str]
"""Pain, words, and the test that shows them."""


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
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "told":
                    yield _read(call, f"{path.relative_to(ROOT)}::{function.name}")


def _read(call: ast.Call, test: str) -> Shown:
    pain, _, words = call.args
    return ast.literal_eval(pain), ast.literal_eval(words), test


def page() -> str:
    parts = [HEAD]
    for number, pain in PAINS.items():
        parts.append(f"## {number}. {pain.title}\n\nTold by {pain.where}. Users tell of it in {pain.threads}.\n\n")
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
    assert PAGE.read_text(encoding="utf-8") == page(), "tests of pains have changed: run `make golden`"
