"""Each stand-in describes itself, and records each of its calls by node and user.

The nodes' Python is a copy of this machine's 3.11, complete enough to run elsewhere; other versions are rejected.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from llm_fleet_local.drill.image.prerequisites import MissingPrerequisite
from llm_fleet_local.drill.stand_ins import interpreter
from llm_fleet_local.drill.stand_ins.shared import lay_out
from llm_fleet_local.drill.stand_ins.stand_in import calls, stand_ins


def test_each_stand_in_describes_what_it_does_and_rejects() -> None:
    names = [one.name for one in stand_ins()]
    assert len(names) == len(set(names))
    assert {"mount.lustre", "enroot", "srun --auto-resume"} <= set(names)
    assert all(one.plays and one.refuses and one.cannot and one.path.startswith("/") for one in stand_ins())


def test_calls_of_root_and_other_users_are_recorded_for_one_node(tmp_path: Path) -> None:
    shared = lay_out(tmp_path, [])
    assert (shared / "calls").stat().st_mode & 0o1777 == 0o1777
    line = '{{"at": {at}, "name": "srun --auto-resume", "arguments": ["--auto-resume=1"]}}\n'
    (shared / "calls" / "ip-10-1-0-4.jsonl").write_text(line.format(at=2.5))
    (shared / "calls" / "ip-10-1-0-4.2001.jsonl").write_text(line.format(at=1.5))
    assert [(call.node, call.at) for call in calls(shared)] == [("ip-10-1-0-4", 1.5), ("ip-10-1-0-4", 2.5)]


_IS_311 = sys.version_info[:2] == (3, 11)


@pytest.mark.skipif(not _IS_311, reason="this machine's Python is another")
def test_the_copy_runs_from_its_own_folder(tmp_path: Path) -> None:
    place = interpreter.provide(tmp_path)
    requested = "import ssl, sys; print(sys.prefix, sys.version_info[:2], ssl.__file__)"
    env = {"LD_LIBRARY_PATH": str(place / "lib")}
    reported = subprocess.run(
        [place / "bin/python3.11", "-I", "-c", requested], env=env, capture_output=True, text=True, check=True
    )
    assert reported.stdout.split("\n")[0] == f"{place} (3, 11) {place}/lib/python3.11/ssl.py"
    assert not (place / "lib/python3.11/site-packages").exists()
    assert interpreter.provide(tmp_path) == place, "it is copied once"


def test_a_missing_python_version_is_reported_with_the_remedy(tmp_path: Path) -> None:
    other = tmp_path / "python3.11"
    other.write_text("#!/bin/sh\necho '{\"is\": [3, 12]}'\n")
    other.chmod(0o755)
    broken = tmp_path / "shim"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    with pytest.raises(
        MissingPrerequisite, match=r"train with Python 3\.11, which this machine does not have; install it"
    ):
        interpreter.provide(tmp_path / "kept", programs=(str(other), str(broken), str(tmp_path / "none")))
    assert not (tmp_path / "kept").exists()


def test_the_copy_is_visible_to_nodes_whose_environment_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def provide(folder: Path) -> Path:
        return folder / "python"

    monkeypatch.setattr(interpreter, "provide", provide)
    named = {"training": {"environments": [{"program": interpreter.PROGRAM}]}}
    assert interpreter.wanted_by(named, tmp_path) == {interpreter.PLACE: tmp_path / "python"}
    for other in ({"training": {"environments": [{"program": "python3.10"}]}}, {"training": None}, {}):
        assert interpreter.wanted_by(other, tmp_path) == {}
