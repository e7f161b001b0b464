"""How units are started and restarted."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from llm_fleet_node.failures import Failure
from llm_fleet_node.host import Host
from llm_fleet_node.slurm import units
from tests.lifecycle_scripts.slurm.slurm_node import calls, on_ami, runs, starts
from tests.lifecycle_scripts.step_node import file

ADDS = "[Service]\nRestart=on-failure\n"


def test_several_units_are_queried_with_one_call(tmp_path: Path) -> None:
    host = on_ami(tmp_path).host
    starts(tmp_path, "munge")
    seen = units.look(host, "slurmd", "munge", "none")
    assert [(unit.name, unit.active, unit.is_there, unit.pid) for unit in seen] == [
        ("slurmd", False, True, 0),
        ("munge", True, True, 11),
        ("none", False, False, 0),
    ]
    assert len(calls(tmp_path)) == 1


def test_a_unit_with_a_queued_start_counts_as_started(tmp_path: Path) -> None:
    host = on_ami(tmp_path).host
    file(tmp_path, "/fake/job/slurmd", "yes")
    (unit,) = units.look(host, "slurmd")
    assert (unit.active, unit.pid) == (True, 0)


def test_systemd_is_reloaded_only_for_a_changed_unit(tmp_path: Path) -> None:
    host = on_ami(tmp_path).host
    units.start(host, "slurmd", adds=ADDS)
    assert "systemctl daemon-reload" not in calls(tmp_path)
    file(tmp_path, "/fake/reload/slurmd", "yes")
    units.start(host, "slurmd", adds=ADDS)
    assert calls(tmp_path).count("systemctl daemon-reload") == 1


def test_a_restart_that_a_killed_run_missed_is_repeated(tmp_path: Path) -> None:
    units.start(on_ami(tmp_path).host, "slurmd", adds=ADDS)
    time.sleep(0.1)
    Host(tmp_path).write(units.drop_in("slurmd"), ADDS + "RestartSec=1\n")
    host = Host(tmp_path)
    units.start(host, "slurmd", adds=ADDS + "RestartSec=1\n")
    assert host.changes == ["restarted slurmd"]
    host = Host(tmp_path)
    units.start(host, "slurmd", adds=ADDS + "RestartSec=1\n")
    assert host.changes == []


def test_a_file_from_the_future_restarts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = on_ami(tmp_path).host
    units.start(host, "munge")
    time.sleep(0.1)
    file(tmp_path, "/etc/munge/munge.key", "written before the clock was set back")
    assert units.is_older(host, 11, ["/etc/munge/munge.key"])
    now = time.time()
    monkeypatch.setattr(units.time, "time", lambda: now - 3600)
    assert not units.is_older(host, 11, ["/etc/munge/munge.key"])


def test_an_ended_process_has_no_start_time(tmp_path: Path) -> None:
    host = on_ami(tmp_path).host
    assert not units.is_older(host, 0, ["/etc/munge/munge.key"])
    assert not units.is_older(host, 4711, ["/etc/munge/munge.key", "/gone"])


def test_a_missing_unit(tmp_path: Path) -> None:
    host = on_ami(tmp_path).host
    with pytest.raises(Failure, match=r"LFN55  there is no unit none\.service"):
        units.start(host, "none")


def test_disabling_twice_runs_nothing(tmp_path: Path) -> None:
    host = on_ami(tmp_path).host
    units.start(host, "slurmd")
    units.stay_off(host, "slurmd", "slurmctld")
    assert not runs(tmp_path, "slurmd")
    host.changes.clear()
    before = calls(tmp_path)
    units.stay_off(host, "slurmd", "slurmctld")
    assert (host.changes, calls(tmp_path)) == ([], before)
