"""Writes the nav of mkdocs.yml: guides in the order of use, and every other page of docs in its section."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from tools.make_docs_outside import outside_pages
from tools.synth_environment import ROOT

PLACE = ROOT / "mkdocs.yml"
DOCS = ROOT / "docs"
_MARK = "# nav: made by tools/make_docs_nav.py\n"
_GUIDES = (
    "install",
    "new-project",
    "first-fleet-file",
    "before-you-deploy",
    "prove",
    "local-deployment",
    "deploy",
    "on-the-nodes",
    "train",
    "serve",
    "watch",
    "upgrade",
    "upgrade-llm-fleet",
    "when-it-fails",
    "tear-down",
)
_TRAINING = ("from-nothing-to-a-served-model", "fitting", "jobs")
_REFERENCE = (
    "fleet-file.md",
    "examples.md",
    "users.md",
    "versions.md",
    "update-plan.md",
    "mirror.md",
    "outside/CHANGELOG.md",
)
_TESTS = ("proven.md", "assumptions.md", "pains.md", "drill.md", "local-serving.md", "speed.md")
_CONTRIBUTORS = ("outside/CONTRIBUTING.md", "style.md")
Section = tuple[str, list[str]]


def nav() -> list[str | Section]:
    """Return the pages of each section by their paths below docs; a page that is in no section is in the last one."""
    sections: list[str | Section] = [
        "index.md",
        ("Guides", [f"guides/{name}.md" for name in _GUIDES]),
        ("Reference", _there(_REFERENCE)),
        ("Commands", _folder("commands", first=("index",))),
        ("Training", _folder("training", first=_TRAINING)),
        ("Constructs", _folder("constructs")),
        ("Python API", _folder("reference", first=("index",))),
        ("Error codes", ["error-codes.md", *_folder("errors", key=_number)]),
        ("Node failures", ["node-failures.md", "how-a-node-comes-up.md", *_folder("node-failures", key=_number)]),
        ("Tests and limits", [*_there(_TESTS), *sorted({*outside_pages().values()} - {*_REFERENCE, *_CONTRIBUTORS})]),
        ("For contributors", _there(_CONTRIBUTORS)),
    ]
    named = {page for one in sections for page in ([one] if isinstance(one, str) else one[1])}
    left = sorted(path for path in _pages() if path not in named)
    return [*sections, ("More", left)] if left else sections


def page(text: str) -> str:
    """Return mkdocs.yml `text` with the current nav."""
    head, mark, _ = text.partition(_MARK)
    if not mark:
        raise ValueError(f"mkdocs.yml has no line '{_MARK.strip()}'")
    lines = ["nav:"]
    for one in nav():
        if isinstance(one, str):
            lines.append(f"  - {one}")
        else:
            lines += [f"  - {one[0]}:", *(f"      - {path}" for path in one[1])]
    return head + mark + "\n".join(lines) + "\n"


def _there(pages: Iterable[str]) -> list[str]:
    return [page for page in pages if (DOCS / page).is_file() or page in outside_pages().values()]


def _folder(name: str, *, first: Iterable[str] = (), key: Callable[[str], object] = str.casefold) -> list[str]:
    """Return the pages of a folder: those named first, the others sorted by `key`."""
    stems = sorted((path.stem for path in (DOCS / name).glob("*.md")), key=lambda stem: (key(stem), stem))
    begun = [stem for stem in first if stem in stems]
    return [f"{name}/{stem}.md" for stem in [*begun, *(stem for stem in stems if stem not in begun)]]


def _number(stem: str) -> int:
    return int(re.sub(r"\D", "", stem) or 0)


def _pages() -> list[str]:
    return [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]


def main(place: Path = PLACE) -> None:
    """Write the nav."""
    place.write_text(page(place.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
