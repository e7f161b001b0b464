"""Generated pages match their sources. `make golden` writes them again; the nav is last."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.house.test_error_codes import CODES
from tools import (
    make_docs_assumptions,
    make_docs_commands,
    make_docs_errors,
    make_docs_examples,
    make_docs_nav,
    make_docs_node_failures,
    make_docs_reference,
    make_docs_versions,
)
from tools.make_docs_error_texts import reported_codes
from tools.make_docs_errors import number
from tools.record_error_examples import template_of


def same(folder: Path, made: Mapping[str, str]) -> None:
    """Compare the pages in `folder` with the generated ones, or write them again."""
    if os.environ.get("UPDATE_GOLDEN"):
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.md"):
            old.unlink()
        for name, text in made.items():
            (folder / name).write_text(text, encoding="utf-8")
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    assert found == made, "the sources have changed: run `make golden`"


TOOLS = {
    make_docs_assumptions.PLACE: make_docs_assumptions.page,
    make_docs_commands.PLACE: make_docs_commands.page,
    make_docs_examples.PLACE: make_docs_examples.page,
    make_docs_node_failures.PLACE: make_docs_node_failures.page,
    make_docs_versions.PLACE: make_docs_versions.page,
}


@pytest.mark.parametrize("place", TOOLS, ids=lambda place: f"{place.parent.name}/{place.name}")
def test_generated_page_is_up_to_date(place: Path):
    made = TOOLS[place]()
    if os.environ.get("UPDATE_GOLDEN"):
        place.write_text(made, encoding="utf-8")
    assert place.read_text(encoding="utf-8") == made, "the sources have changed: run `make golden`"


def test_generated_error_pages_are_up_to_date():
    same(make_docs_errors.PLACE, make_docs_errors.pages(CODES))


def test_generated_reference_is_up_to_date():
    same(make_docs_reference.PLACE, make_docs_reference.pages())


def test_generated_nav_is_up_to_date():
    text = make_docs_nav.PLACE.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_GOLDEN"):
        make_docs_nav.main()
        text = make_docs_nav.PLACE.read_text(encoding="utf-8")
    assert text == make_docs_nav.page(text), "run `python -m tools.make_docs_nav`"


def test_every_code_has_a_section_of_its_own():
    pages = make_docs_errors.pages(CODES)
    for code in CODES:
        assert pages[f"LF{number(code) // 100 * 100}.md"].count(f"## {code.value}\n") == 1


def test_error_pages_show_real_texts():
    pages = make_docs_errors.pages(CODES)
    for text in (
        "the count must be at most 6758",
        "0 to 6758 (HyperPod's CreateCluster API)",
        "no AWS credentials: Unable to locate credentials",
    ):
        assert any(text in page for page in pages.values())
    assert not any("depends on the value" in page for page in pages.values())


def test_recorded_error_texts_are_still_in_the_sources():
    stale = [
        (code, line.strip())
        for code, texts in make_docs_errors.examples().items()
        for text in texts
        for place, line in enumerate(text.splitlines())
        if (place == 1 or line.lstrip().startswith("remedy:"))  # More lines of a message are of another program.
        and not template_of(line.strip().removeprefix("remedy:").strip())
    ]
    assert stale == [], "run `python -m tools.record_error_examples` with the tests of these texts"


def test_the_texts_of_a_code_are_found_in_the_sources():
    reported = reported_codes()
    # In the call itself, by a constant of the file, by a rule that many codes share, by a variable of the function.
    assert "fleet" in reported["Code.FILE_EMPTY"][0].remedy
    assert reported["Code.INSTANCE_TYPE_INFERENTIA"][0].remedy.startswith("use inf1 and inf2 in an inference service")
    assert reported["Code.CONTROLLER_TWICE"][0].remedy
    assert reported["Code.PC_SPOT_PRICE"][0].message


def test_a_docstring_is_split_into_descriptions_of_parameters():
    text = "Make it.\n\n`a`: the first, like `b`: no. `b`, `c`: both.\n\nRaises `FleetError`: never.\n\n`d`: last."
    assert make_docs_reference.described(text, ["a", "b", "c", "d"]) == {
        "a": "the first, like `b`: no.",
        "b": "both.\n\nRaises `FleetError`: never.",
        "c": "both.\n\nRaises `FleetError`: never.",
        "d": "last.",
    }
