"""Every stand-in says what it is, and what it was asked is told by node, whoever asked."""

from __future__ import annotations

from pathlib import Path

from local.drill.stand_ins.shared import lay_out
from local.drill.stand_ins.stand_in import calls, stand_ins


def test_each_says_what_it_plays_refuses_and_cannot() -> None:
    names = [one.name for one in stand_ins()]
    assert len(names) == len(set(names))
    assert {"mount.lustre", "enroot", "srun --auto-resume"} <= set(names)
    assert all(one.plays and one.refuses and one.cannot and one.path.startswith("/") for one in stand_ins())


def test_calls_of_root_and_of_others_are_of_one_node(tmp_path: Path) -> None:
    shared = lay_out(tmp_path, [])
    assert (shared / "calls").stat().st_mode & 0o1777 == 0o1777
    line = '{{"at": {at}, "name": "srun --auto-resume", "arguments": ["--auto-resume=1"]}}\n'
    (shared / "calls" / "ip-10-1-0-4.jsonl").write_text(line.format(at=2.5))
    (shared / "calls" / "ip-10-1-0-4.2001.jsonl").write_text(line.format(at=1.5))
    assert [(call.node, call.at) for call in calls(shared)] == [("ip-10-1-0-4", 1.5), ("ip-10-1-0-4", 2.5)]
