"""The docs site builds without a warning, and has no broken link."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tools.make_docs_examples import PICTURES, examples
from tools.make_docs_outside import outside_pages
from tools.make_docs_site import build
from tools.synth_environment import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
EXTERNAL = re.compile(r"https?://[^\s<>\"'`)\]]+")
VALUE = r"""=("[^"]*"|'[^']*'|[^\s>"']+)"""
ANCHOR, TARGET = re.compile(rf"\s(?:id|name){VALUE}"), re.compile(rf"\s(?:href|src){VALUE}")
# Placeholders for the reader's own addresses, and addresses in a closed network.
MADE_UP = ("127.0.0.1", "localhost", "169.254.169.254")

# Archives of packages that are signed, which apt fetches without TLS.
SIGNED = ("archive.ubuntu.com", "deb.debian.org", "security.debian.org")


class Page:
    """Anchors and link targets of a page. zensical adds quotes only if they are needed."""

    def __init__(self, text: str) -> None:
        self.anchors = {unescape(value.strip("\"'")) for value in ANCHOR.findall(text)}
        self.targets = sorted({unescape(value.strip("\"'")) for value in TARGET.findall(text)})


@dataclass
class Site:
    """The built site, with zensical's output and exit code."""

    folder: Path
    said: str
    exit_code: int

    @cached_property
    def files(self) -> dict[str, Page | None]:
        """Every file by its path in the site; `None` for files that are not pages."""
        return {
            path.relative_to(self.folder).as_posix(): Page(path.read_text(encoding="utf-8"))
            if path.suffix == ".html"
            else None
            for path in self.folder.rglob("*")
            if path.is_file()
        }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("docs")
    done = build(folder / "sources", folder / "site")
    return Site(
        folder=folder / "site", said=re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr), exit_code=done.returncode
    )


def test_it_builds_without_a_warning(site: Site):
    assert site.exit_code == 0, site.said
    assert "No issues found" in site.said
    assert "warning" not in site.said.casefold()


def test_every_page_is_in_it(site: Site):
    assert [page for page in [*PAGES, *outside_pages().values()] if built(page) not in site.files] == []


def test_no_link_is_broken(site: Site):
    broken = [
        f"{path}: {target}"
        for path, page in site.files.items()
        if page is not None and path != "404.html"
        for target in page.targets
        if not leads_somewhere(site, path, target)
    ]
    assert broken == []


def test_every_page_is_in_the_nav_once():
    named = list(paths(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    assert sorted(named) == sorted([*PAGES, *outside_pages().values()]), "run `python -m tools.make_docs_nav`"


def test_every_example_has_its_picture_and_no_picture_is_left_over(site: Site):
    assert {path.stem for path in PICTURES.glob("*.svg")} == {path.stem for path in examples()}
    page = site.files["examples/index.html"]
    assert page is not None
    assert {f"../pictures/{path.stem}.svg" for path in examples()} <= set(page.targets)


@pytest.mark.parametrize("page", PAGES)
def test_external_addresses_have_the_right_form(page: str):
    text = (DOCS / page).read_text(encoding="utf-8")
    if page.startswith("errors/"):  # Its blocks are error texts with wrong input.
        text = re.sub(r"^```text\n.*?^```", "", text, flags=re.S | re.M)
    for address in EXTERNAL.findall(text):
        assert isinstance(address, str)
        parts = urlsplit(address.rstrip(".,;:"))
        host = parts.hostname or ""
        if "…" in host:  # the reader replaces this part
            continue
        assert "." in host or host in MADE_UP, address
        assert (
            parts.scheme == "https" or host in (*MADE_UP, *SIGNED) or host.endswith((".internal", ".amazonaws.com"))
        ), address


def built(page: str) -> str:
    """Return the file of a page: `a/b.md` is `a/b/index.html`."""
    return page.removesuffix("index.md") + "index.html" if page.endswith("index.md") else f"{page[:-3]}/index.html"


def leads_somewhere(site: Site, path: str, target: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return parts.scheme in ("https", "http", "mailto", "data")
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path))) if parts.path else path
    place = place if place in site.files else posixpath.normpath(f"{place}/index.html")
    if place not in site.files:
        return False
    page = site.files[place]
    # The theme's own link past the nav is `__skip`, on every page.
    return not parts.fragment or page is None or parts.fragment == "__skip" or unquote(parts.fragment) in page.anchors


def paths(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
        return
    parts = cast("dict[str, object]", nav).values() if isinstance(nav, dict) else cast("list[object]", nav)
    for part in parts:
        yield from paths(part)
