"""Marked blocks in files that other programs also write."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node.host import Host
from llm_fleet_node.marked_block import get_block, put_block
from tools.synth_environment import ROOT

OTHERS = "127.0.0.1 localhost\n"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hosts").write_text(OTHERS)
    return Host(tmp_path)


def text(host: Host) -> str:
    return host.read("/etc/hosts") or ""


def test_a_block_is_appended_once(host: Host) -> None:
    assert put_block(host, "/etc/hosts", "names", "10.0.0.1 a\n10.0.0.2 b")
    assert text(host) == OTHERS + "# llm-fleet: begin names\n10.0.0.1 a\n10.0.0.2 b\n# llm-fleet: end names\n"
    assert get_block(host, "/etc/hosts", "names") == "10.0.0.1 a\n10.0.0.2 b\n"
    host.changes.clear()
    assert not put_block(host, "/etc/hosts", "names", "10.0.0.1 a\n10.0.0.2 b\n")
    assert host.changes == []


def test_a_block_can_be_moved_to_the_top(host: Host) -> None:
    put_block(host, "/etc/hosts", "names", "10.0.0.1 a")
    put_block(host, "/etc/hosts", "names", "10.0.0.1 a", first=True)
    assert text(host) == "# llm-fleet: begin names\n10.0.0.1 a\n# llm-fleet: end names\n" + OTHERS


def test_a_changed_block_keeps_its_position(host: Host) -> None:
    put_block(host, "/etc/hosts", "names", "10.0.0.1 a")
    host.path("/etc/hosts").write_text(text(host) + "10.0.0.9 later\n")
    put_block(host, "/etc/hosts", "names", "10.0.0.2 a")
    assert text(host).splitlines()[1:] == [
        "# llm-fleet: begin names",
        "10.0.0.2 a",
        "# llm-fleet: end names",
        "10.0.0.9 later",
    ]


def test_an_empty_block_is_removed_and_others_stay(host: Host) -> None:
    put_block(host, "/etc/hosts", "one", "10.0.0.1 a")
    put_block(host, "/etc/hosts", "two", "10.0.0.2 b")
    put_block(host, "/etc/hosts", "one", "")
    assert get_block(host, "/etc/hosts", "one") == ""
    assert get_block(host, "/etc/hosts", "two") == "10.0.0.2 b\n"
    assert not put_block(host, "/etc/hosts", "one", "")


def test_a_missing_file_is_made(host: Host) -> None:
    assert put_block(host, "/etc/fstab", "x", "a b c")
    assert get_block(host, "/etc/fstab", "x") == "a b c\n"


def test_removing_a_block_without_end_keeps_other_lines(host: Host) -> None:
    host.path("/etc/hosts").write_text(OTHERS + "# llm-fleet: begin names\n10.0.0.1 a\n10.0.0.9 theirs\n")
    put_block(host, "/etc/hosts", "names", "10.0.0.1 a")
    assert text(host) == OTHERS + "# llm-fleet: begin names\n10.0.0.1 a\n# llm-fleet: end names\n10.0.0.9 theirs\n"


def test_an_end_marker_without_begin_is_removed(host: Host) -> None:
    host.path("/etc/hosts").write_text("# llm-fleet: end names\n" + OTHERS)
    put_block(host, "/etc/hosts", "names", "10.0.0.1 a")
    assert text(host).count("end names") == 1


def test_the_mode_of_the_file_is_kept(host: Host) -> None:
    host.path("/etc/hosts").chmod(0o600)
    put_block(host, "/etc/hosts", "names", "10.0.0.1 a")
    assert host.path("/etc/hosts").stat().st_mode & 0o777 == 0o600


def test_a_bind_mounted_file_is_written_in_place(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /etc/hosts is in a container."""

    def busy(*_: Any) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    assert put_block(host, "/etc/hosts", "names", "10.0.0.1 a")
    assert get_block(host, "/etc/hosts", "names") == "10.0.0.1 a\n"
    assert host.changes == ["wrote /etc/hosts"]


def test_a_process_waits_until_another_has_written_its_block(host: Host) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from llm_fleet_node.host import Host\n"
        "from llm_fleet_node.marked_block import put_block\n"
        "print('begins', flush=True)\n"
        "put_block(Host(Path(sys.argv[2])), '/etc/hosts', 'theirs', '10.0.0.2 b')\n"
    )
    put_block(host, "/etc/hosts", "ours", "10.0.0.1 a")
    with open(host.path("/run/llm-fleet.marked-block.lock")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-c", code, str(ROOT / "lifecycle_scripts"), str(host.root)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "begins\n"
            with pytest.raises(subprocess.TimeoutExpired):
                other.wait(0.5)
            assert get_block(host, "/etc/hosts", "theirs") == ""
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert other.wait(30) == 0
    assert get_block(host, "/etc/hosts", "theirs") == "10.0.0.2 b\n"
    assert get_block(host, "/etc/hosts", "ours") == "10.0.0.1 a\n"


def test_a_users_link_in_the_lock_folder_is_not_followed(host: Host) -> None:
    theirs = host.path("/run/lock/llm-fleet.marked-block")
    theirs.parent.mkdir(parents=True)
    shadow = host.path("/etc/shadow")
    shadow.parent.mkdir(exist_ok=True)
    shadow.write_text("root:*\n")
    theirs.symlink_to(shadow)
    put_block(host, "/etc/hosts", "names", "10.0.0.1 a")
    assert shadow.read_text() == "root:*\n"
    assert not list(host.path("/run/lock").glob("*.lock"))


def test_other_lines_that_are_not_utf8_are_kept(host: Host) -> None:
    theirs = b"10.0.0.9 printer # B\xfcro\n"
    host.path("/etc/hosts").parent.mkdir(exist_ok=True)
    host.path("/etc/hosts").write_bytes(theirs)
    assert put_block(host, "/etc/hosts", "names", "10.0.0.1 a")
    assert host.path("/etc/hosts").read_bytes().startswith(theirs)
    assert not put_block(host, "/etc/hosts", "names", "10.0.0.1 a")
