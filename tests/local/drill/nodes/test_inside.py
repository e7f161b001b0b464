"""Paths on a node never resolve to files of the machine."""

from pathlib import Path

import pytest

from llm_fleet_local.drill.nodes.inside import inside


@pytest.mark.parametrize(
    ("link", "target", "path", "found"),
    [
        ("etc/slurm", "/opt/slurm/etc", "/etc/slurm/slurm.conf", "opt/slurm/etc/slurm.conf"),
        ("opt/slurm", "slurm-24.11", "/opt/slurm/etc", "opt/slurm-24.11/etc"),
        ("etc/up", "../../../../../root", "/etc/up/file", "root/file"),
        ("etc/plain", "elsewhere", "/etc/./other/../plain", "etc/elsewhere"),
        ("etc/unused", "x", "/../../etc/passwd", "etc/passwd"),
    ],
)
def test_links_are_followed_as_the_node_would(tmp_path: Path, link: str, target: str, path: str, found: str) -> None:
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(target)
    assert inside(tmp_path, path) == tmp_path / found


def test_a_link_to_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/b")
    (tmp_path / "b").symlink_to("/c")
    assert inside(tmp_path, "/a/file") == tmp_path / "c/file"


def test_a_circle_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/b")
    (tmp_path / "b").symlink_to("/a")
    with pytest.raises(OSError, match="too many symbolic links in /a/file"):
        inside(tmp_path, "/a/file")
