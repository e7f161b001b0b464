"""No page links to a missing file."""

import re
import subprocess

import pytest

from tools.synth_environment import ROOT

LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")
_LISTED = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
# Pages of new projects link to other files of such a project.
PAGES = [page for page in _LISTED.stdout.split() if "/cli/new/project/" not in page]


@pytest.mark.parametrize("page", PAGES)
def test_every_linked_file_exists(page: str):
    folder = (ROOT / page).parent
    missing = [target for target in LINK.findall((ROOT / page).read_text()) if not (folder / target).exists()]
    assert missing == []
