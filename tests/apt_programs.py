"""Marks tests that need Debian's own programs: Debian and Ubuntu have them, and CI runs on Debian."""

import shutil

import pytest

from llm_fleet_local.drill.stand_ins.apt_repository import NEEDED

needs_apt = pytest.mark.skipif(
    any(shutil.which(name) is None for name in (*NEEDED, "apt-get", "dpkg")),
    reason="apt-get, dpkg-deb and gpg are needed",
)
