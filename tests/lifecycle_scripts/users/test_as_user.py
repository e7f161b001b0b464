"""Changes in a user's home are made as that user: a link cannot lead to files that the user cannot write."""

import os
from functools import partial
from pathlib import Path

import pytest

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import Host
from llm_fleet_node.users.as_user import as_user, in_process_of
from tests.lifecycle_scripts.convergence import assert_fails

pytestmark = pytest.mark.root
UNPRIVILEGED = (65534, 65534)


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that all users can read: pytest's own folders are only for root."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path("/tmp"):
            break
        folder.chmod(folder.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    return tmp_path


def test_files_belong_to_the_user_and_changes_are_kept(open_folder: Path) -> None:
    host = Host()
    file = open_folder / "made"

    def work(host: Host) -> None:
        file.write_text("hello")
        host.changes.append("made it")

    in_process_of(host, UNPRIVILEGED, "/nowhere", work)
    assert (file.stat().st_uid, file.stat().st_gid) == UNPRIVILEGED
    assert host.changes == ["made it"]


def test_files_of_root_cannot_be_changed(open_folder: Path) -> None:
    secret = open_folder / "of-root"
    secret.write_text("root's")
    secret.chmod(0o600)
    (open_folder / "authorized_keys").symlink_to(secret)
    with pytest.raises(Failure, match="Permission denied") as failure:
        in_process_of(Host(), UNPRIVILEGED, "/", lambda host: _write(open_folder / "authorized_keys"))
    assert failure.value.code is Code.HOME_UNUSABLE
    assert secret.read_text() == "root's"


def test_a_failure_is_passed_to_the_parent() -> None:
    with pytest.raises(Failure) as failure:
        in_process_of(Host(), UNPRIVILEGED, "/", lambda _: fail(Code.PYXIS, "as it was said"))
    assert (failure.value.code, failure.value.cause) == (Code.PYXIS, "as it was said")


def test_an_unexpected_error_is_passed_with_its_location() -> None:
    assert_fails(Code.UNEXPECTED_ERROR, in_process_of, Host(), UNPRIVILEGED, "/", _defect, match="in _defect")


def test_a_killed_process_is_reported() -> None:
    with pytest.raises(Failure, match="killed"):
        in_process_of(Host(), UNPRIVILEGED, "/", lambda _: os.kill(os.getpid(), 9))


def test_groups_of_root_are_dropped() -> None:
    before = os.getgroups()
    host = Host()
    os.setgroups([4711])
    try:
        in_process_of(host, UNPRIVILEGED, "/", lambda child: child.changes.append(f"{os.getgroups()} {os.getuid()}"))
    finally:
        os.setgroups(before)
    assert host.changes == ["[] 65534"]


def test_with_another_root_folder_the_user_is_not_changed(tmp_path: Path) -> None:
    host = Host(tmp_path)
    as_user(host, "alice", partial(Host.write, path="/mine", text="x"))  # pyright: ignore[reportArgumentType]
    assert host.changes == ["wrote /mine"]


def _write(path: Path) -> None:
    path.write_text("the user's")


def _defect(host: Host) -> None:
    raise KeyError(host.root)
