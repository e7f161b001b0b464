"""No page links to a missing file."""

import re
import subprocess

import pytest

from tools.synth_environment import ROOT

LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")
PAGES = subprocess.run(
    ["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True
).stdout.split()  # fmt: skip
PAGES = [page for page in PAGES if "/cli/new/project/" not in page]  # of new projects, which have other files


@pytest.mark.parametrize("page", PAGES)
def test_every_linked_file_exists(page: str):
    folder = (ROOT / page).parent
    missing = [target for target in LINK.findall((ROOT / page).read_text()) if not (folder / target).exists()]
    assert missing == []
