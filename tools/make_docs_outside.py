"""Files outside docs/ to which pages in docs/ link: Markdown files become pages of the site, other files are copied."""

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
    """Return the linked files outside docs/: path in the repository to path in the site's sources."""
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
    """Return only the Markdown files, as `outside` does."""
    return {path: place for path, place in outside().items() if path.endswith(".md")}


def moved(text: str, page: str) -> str:
    """Return the text of `page` (a path in the repository) with its links converted to the site's paths.

    A broken link is not changed, and fails the build.
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
        return f"files/{path.lstrip('.')}"  # zensical leaves out hidden folders
    name = path.removesuffix("README.md").rstrip("/") or "README"
    return f"outside/{name.removesuffix('.md').replace('/', '-')}.md"
