"""Which checkpoint a start resumes from, and which earlier ones are kept, with a single process."""

from pathlib import Path
from typing import Any

import pytest

from tests.llm_fleet_training.checkpoints.test_checkpoints import record, written


class Alone:
    """A backend of one process, whose model is a single value."""

    is_main, rank, world = True, 0, 1

    def exchange(self, text: str) -> "list[str]":
        return [text]

    def checkpoint_bytes(self) -> int:
        return 7

    def save(self, part: Any) -> None:
        with part.open("model.bin") as stream:
            stream.write(b"weights")


class Slow:
    """A mirror that has copied nothing yet."""

    def __init__(self) -> None:
        self.offered: list[int] = []

    def offer(self, checkpoint: Any) -> None:
        self.offered.append(checkpoint.step)

    def waiting(self) -> "list[int]":
        return self.offered[:1]


def test_damaged_checkpoints_are_skipped_for_the_next_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """They are of consecutive steps: each must be tried."""
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints
    from llm_fleet_training.training import finding

    def belongs(*_: object) -> None: ...

    for step in range(1, 6):
        made = written(tmp_path, step)
        if step > 3:
            (made.folder / "model.bin").write_bytes(b"w3ights")
    monkeypatch.setattr(finding, "belongs", belongs)
    said: list[str] = []
    anything: Any = None
    found = finding.find(Alone(), Checkpoints(tmp_path), anything, anything, said.append)  # pyright: ignore[reportArgumentType]
    assert found
    assert found.step == 3
    assert [line.split(" ")[0] for line in said] == ["step_00000005", "step_00000004"]


def test_checkpoints_waiting_for_the_mirror_are_not_pruned(tmp_path: Path):
    from llm_fleet_training.checkpoints.checkpoints import Checkpoints
    from llm_fleet_training.training.saving import Saver

    checkpoints, slow = Checkpoints(tmp_path), Slow()
    saver: Any = Saver(Alone(), checkpoints, record, keep=1, say=print, mirror=slow)  # pyright: ignore[reportArgumentType]
    for step in range(1, 5):
        saver.save(step)
    assert slow.offered == [1, 2, 3, 4]
    assert checkpoints.steps() == [1, 4]
