"""A writer that is killed in the middle leaves a draft, which the next writer of the file takes away."""

import os
import signal
from pathlib import Path

from llm_fleet_node.host import Host


def killed_before_replacing(root: Path) -> None:
    """Write /etc/conf in a process that is killed when its draft is whole."""
    child = os.fork()
    if not child:
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        Host(root).write("/etc/conf", "half")
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def test_the_next_writer_takes_it_away(tmp_path: Path):
    killed_before_replacing(tmp_path)
    (draft,) = (tmp_path / "etc").iterdir()
    assert draft.name.startswith(".conf.draft-")
    Host(tmp_path).write("/etc/conf", "whole")
    assert {path.name: path.read_text() for path in (tmp_path / "etc").iterdir()} == {"conf": "whole"}


def test_the_draft_of_a_writer_that_lives_is_left(tmp_path: Path):
    other = tmp_path / "etc" / ".conf.draft-1"
    other.parent.mkdir()
    other.write_text("somebody else's")
    Host(tmp_path).write("/etc/conf", "whole")
    assert other.read_text() == "somebody else's"
