"""What pages of docs link to outside of docs: Markdown becomes a page of the site as well, other files go along."""

import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tools.synth_environment import ROOT

LINK = re.compile(r"(\]\()((?!https?://|#|mailto:)[^)#\s]+)((?:#[^)]*)?\))")
_DOCS = "docs"


@cache
def outside() -> Mapping[str, str]:
    """Return what is linked to outside of docs, by its path in the repository: its path below the site's sources."""
    found: dict[str, str] = {}
    left = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / _DOCS).rglob("*.md"))
    while left:
        page = left.pop(0)
        for _, target, _ in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
            if not path.startswith(f"{_DOCS}/") and path not in found and (ROOT / path).is_file():
                found[path] = _place(path)
                if path.endswith(".md"):
                    left.append(path)
    return found


def outside_pages() -> Mapping[str, str]:
    """Return the pages among them, by their paths in the repository."""
    return {path: place for path, place in outside().items() if path.endswith(".md")}


def moved(text: str, page: str) -> str:
    """Return the text of `page` (its path in the repository) with its links as they are in the site's sources.

    A link to what is not there stays as it is, and fails the build.
    """
    here = posixpath.dirname(_in_site(page))

    def link(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), match.group(2)))
        place = _in_site(path)
        return match.group(1) + posixpath.relpath(place, here or ".") + match.group(3)

    return LINK.sub(link, text)


def _in_site(path: str) -> str:
    if path.startswith(f"{_DOCS}/"):
        return path.removeprefix(f"{_DOCS}/")
    return outside().get(path, f"../{path}")


def _place(path: str) -> str:
    if Path(path).suffix != ".md":
        return f"files/{path}"
    name = path.removesuffix("README.md").rstrip("/") or "README"
    return f"outside/{name.removesuffix('.md').replace('/', '-')}.md"
