"""Commands in the guides exist in `llm-fleet` and in the Makefile."""

import re
import shlex

import pytest

from tools.make_docs_commands import command_line
from tools.synth_environment import ROOT

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


def test_the_index_lists_each_guide():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\(guides/([a-z-]+)\.md\)", index) == sorted(
        (path.stem for path in GUIDES), key=lambda stem: index.index(f"guides/{stem}.md")
    )
    assert GUIDES
    assert COMMANDS
