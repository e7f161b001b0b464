"""Each node failure code has a page with a remedy, and each page has a code."""

import re
import sys
from pathlib import Path

import pytest

from tools.synth_environment import ROOT

SCRIPTS = str(ROOT / "lifecycle_scripts")
if SCRIPTS not in sys.path:
    sys.path.insert(0, SCRIPTS)

from inference_host.failures import Code as HostCode  # noqa: E402
from llm_fleet_node.failures import Code as NodeCode  # noqa: E402

FOLDER = ROOT / "docs" / "node-failures"
PAGES = sorted(FOLDER.glob("*.md"))
SECTIONS = ["Symptom", "Cause", "Remedy"]
OPTIONAL = "Try it in the drill"
CODES = [code.code for code in (*NodeCode, *HostCode)]
"""Codes of cluster nodes and of inference hosts."""


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_its_page(code: str) -> None:
    assert (FOLDER / f"{code}.md").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_has_its_code_and_its_sections(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert page.stem in CODES
    assert re.match(rf"# {page.stem}: \S.*\S\n\n", text), "the title is the code and what is wrong"
    assert [title for title in re.findall(r"^## (.*)$", text, re.MULTILINE) if title != OPTIONAL] == SECTIONS
    bodies = re.split(r"^## .*$", text, flags=re.MULTILINE)[1:]
    assert all(len(body.strip()) > 40 for body in bodies), "each section says something"
    assert len(text.splitlines()) <= 60


def test_no_code_is_for_two_failures() -> None:
    assert len(set(CODES)) == len(CODES)


def test_no_two_pages_have_one_title() -> None:
    titles = [page.read_text(encoding="utf-8").splitlines()[0].partition(": ")[2] for page in PAGES]
    assert len(set(titles)) == len(titles)
