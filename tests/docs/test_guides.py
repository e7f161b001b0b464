"""Commands in guides and other pages exist in `llm-fleet` and in the Makefile, with their options."""

import contextlib
import io
import re
import shlex
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

import pytest

from tools.make_docs_commands import command_line
from tools.synth_environment import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "errors"),
    *sorted((ROOT / "local").rglob("*.md")),
    *sorted((ROOT / "constructs").rglob("*.md")),
]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
COMMANDS = [
    (path.stem, command)
    for path in GUIDES
    for block in re.findall(r"^```console\n(.*?)^```", path.read_text(encoding="utf-8"), re.S | re.M)
    for command in re.findall(r"^\$ (.*)$", block, re.M)
]


@pytest.mark.parametrize(("guide", "command"), COMMANDS)
def test_a_command_of_a_guide_exists(guide: str, command: str):
    words = shlex.split(command.partition(" > ")[0])
    if words[0] == "llm-fleet" and words[1:] != ["--help"]:
        command_line().parse_args(words[1:])
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M)
    else:
        assert words[0] in ("npx", "npm", "python", "python3", "pip", "uv", "source", "export", "diff", "llm-fleet")


def llm_fleet_commands(page: Path) -> set[tuple[str, ...]]:
    """Return the commands in the code blocks of `page`, fenced and indented ones, up to `>`, `|` or `&&`."""
    text = re.sub(r"\\\n\s*", " ", page.read_text(encoding="utf-8"))
    blocks = [*re.findall(r"^ *```\w*\n(.*?)^ *```", text, re.S | re.M), *re.findall(r"^    .*$", text, re.M)]
    lines = re.findall(r"^ *[$#]? ?(llm-fleet .*)$", "\n".join(blocks), re.M)
    commands = (shlex.split(line, comments=True) for line in lines if not line.endswith("…"))
    return {tuple(takewhile(lambda word: word not in (">", "|", "&&"), words)) for words in commands}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_of_llm_fleet_in_a_code_block_can_be_parsed(page: Path):
    for command in llm_fleet_commands(page):
        with contextlib.redirect_stdout(io.StringIO()):
            assert _exit_code(command[1:]) == 0, command


def _exit_code(words: Sequence[str]) -> object:
    try:
        command_line().parse_args(words)
    except SystemExit as ended:  # 0 after --help
        return ended.code
    return 0


def test_pages_have_commands():
    assert len({command for page in PAGES for command in llm_fleet_commands(page)}) > 100


def test_the_index_lists_each_guide():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\(guides/([a-z-]+)\.md\)", index) == sorted(
        (path.stem for path in GUIDES), key=lambda stem: index.index(f"guides/{stem}.md")
    )
    assert GUIDES
    assert COMMANDS
