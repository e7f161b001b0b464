"""Every reader can find a named source: none is a section of unpublished notes."""

import re
import subprocess

from tools.synth_environment import ROOT

SECTION = re.compile(r"\b[a-z-]+ §\d|\(§\d")


def test_no_section_of_notes_is_a_source():
    names = subprocess.run(
        ["git", "ls-files", "*.py", "*.sh", "*.md", "*.json", "*.yaml"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    cited = {
        name: SECTION.findall((ROOT / name).read_text(encoding="utf-8")) for name in names if (ROOT / name).is_file()
    }
    assert {name: found for name, found in cited.items() if found} == {}
