"""The step log_rotation."""

from pathlib import Path

import pytest

from llm_fleet_node.boot.rotation import others_patterns, rotated
from llm_fleet_node.failures import Failure
from llm_fleet_node.host import Host
from llm_fleet_node.node import Node
from llm_fleet_node.steps.log_rotation import STEP
from tests.lifecycle_scripts.base_steps.node_with_systemd import build
from tests.lifecycle_scripts.convergence import applied, converges
from tests.lifecycle_scripts.step_node import file, program

_LOGROTATE = """
assert a == ['--debug', '/etc/logrotate.conf'], a
print('reading config file /etc/logrotate.conf', file=sys.stderr)
seen = {}
for name in sorted(os.listdir(root + '/etc/logrotate.d')):
    if name.endswith('.disabled'):  # of the default tabooext: logrotate.conf(5)
        continue
    print(f'reading config file {name}', file=sys.stderr)
    for line in open(f'{root}/etc/logrotate.d/{name}'):
        for log in line.split()[:-1] if line.rstrip().endswith('{') else []:
            if log in seen:
                print(f'error: {name}:1 duplicate log entry for {log}', file=sys.stderr)
                print(f'error: found error in file {name}, skipping', file=sys.stderr)
            seen[log] = name
sys.exit(0)
"""
SLURM = "etc/logrotate.d/llm-fleet-slurm"
TIMER = "/etc/systemd/system/timers.target.wants/logrotate.timer"


def with_logrotate(root: Path) -> Node:
    node = build(root)
    program(root, "logrotate", _LOGROTATE)
    (root / "usr/bin/sh").symlink_to("/bin/sh")
    file(root, "/usr/lib/systemd/system/logrotate.timer", "[Timer]\n")
    (root / TIMER.lstrip("/")).parent.mkdir(parents=True)
    (root / TIMER.lstrip("/")).symlink_to("/usr/lib/systemd/system/logrotate.timer")
    return node


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return with_logrotate(tmp_path)


def test_daemons_reopen_their_logs(node: Node, tmp_path: Path) -> None:
    assert applied(STEP, node) == ["wrote /etc/logrotate.d/llm-fleet-slurm", "wrote /etc/logrotate.d/llm-fleet"]
    text = (tmp_path / SLURM).read_text()
    assert text.startswith("/var/log/slurm/slurmctld.log /var/log/slurm/slurmd.log /var/log/slurm/slurmdbd.log {\n")
    assert "systemctl kill --kill-who=main --signal=SIGUSR2 slurmd.service" in text
    own = (tmp_path / "etc/logrotate.d/llm-fleet").read_text()
    assert "/var/log/llm-fleet/*.log {" in own
    assert own.index("/var/log/provision/provisioning.log") < own.index("copytruncate")
    assert applied(STEP, node) == []


def test_a_temporary_file_of_a_killed_run_is_not_an_entry(node: Node, tmp_path: Path) -> None:
    STEP.apply(node)
    gone = 4_194_305  # above the highest pid_max of Linux
    draft = tmp_path / f"etc/logrotate.d/.llm-fleet-slurm.draft-{gone}"
    (tmp_path / SLURM).rename(draft)
    assert applied(STEP, node) == ["wrote /etc/logrotate.d/llm-fleet-slurm"]
    assert not draft.exists()


def test_it_converges_after_a_kill_at_any_point(tmp_path: Path) -> None:
    assert converges(STEP, with_logrotate, tmp_path) == 2


def test_logs_that_the_ami_rotates_get_no_second_entry(node: Node, tmp_path: Path) -> None:
    applied(STEP, node)
    file(tmp_path, "/etc/logrotate.d/slurm", "/var/log/slurm/*.log {\n  size 50M\n}\n")
    assert applied(STEP, node) == ["removed /etc/logrotate.d/llm-fleet-slurm"]


def test_only_logs_that_debians_packages_do_not_rotate_are_added(node: Node, tmp_path: Path) -> None:
    packaged = "/var/log/slurm-llnl/slurmd.log /var/log/slurm/slurmd.log {\n  rotate 12\n}\n"
    file(tmp_path, "/etc/logrotate.d/slurmd", packaged)
    applied(STEP, node)
    assert (tmp_path / SLURM).read_text().startswith("/var/log/slurm/slurmctld.log /var/log/slurm/slurmdbd.log {\n")


def test_an_entry_that_signals_a_missing_program_is_disabled(node: Node, tmp_path: Path) -> None:
    """As in Debian 13's packages (slurmd 24.11.5), while the programs are in /opt/slurm."""
    packaged = (
        "/var/log/slurm-llnl/slurmd.log /var/log/slurm/slurmd.log {\n  size=5M\n  postrotate\n"
        "      /usr/sbin/start-stop-daemon -s USR2 --stop -x /usr/sbin/slurmd -q\n  endscript\n}\n"
    )
    file(tmp_path, "/etc/logrotate.d/slurmd", packaged)
    file(tmp_path, "/usr/sbin/slurmd", "")
    applied(STEP, node)
    assert "/var/log/slurm/slurmd.log" not in (tmp_path / SLURM).read_text()
    (tmp_path / "usr/sbin/slurmd").unlink()
    changed = "disabled /etc/logrotate.d/slurmd, which signals a daemon that does not exist"
    assert applied(STEP, node) == [changed, f"wrote /{SLURM}"]
    assert "/var/log/slurm/slurmd.log" in (tmp_path / SLURM).read_text()
    assert (tmp_path / "etc/logrotate.d/slurmd.disabled").read_text() == packaged
    assert applied(STEP, node) == []


def test_paths_in_scripts_and_comments_are_not_logs(tmp_path: Path) -> None:
    file(
        tmp_path,
        "/etc/logrotate.d/x",
        "# not /var/log/a.log\n/var/log/c.log {\n  postrotate\n    rm /var/log/d.log\n  endscript\n}\n",
    )
    patterns = others_patterns(Host(tmp_path), ())
    assert [rotated(f"/var/log/{name}.log", patterns) for name in "acd"] == [False, True, False]


def test_a_folder_that_others_can_write_gets_the_su_option(node: Node, tmp_path: Path) -> None:
    (tmp_path / "var/log/slurm").mkdir(parents=True)
    (tmp_path / "var/log/slurm").chmod(0o775)
    applied(STEP, node)
    assert "    su root root\n" in (tmp_path / SLURM).read_text()
    (tmp_path / "var/log/slurm").chmod(0o755)
    applied(STEP, node)
    assert "su root" not in (tmp_path / SLURM).read_text()


def test_missing_logrotate_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="LFN40  logrotate is not installed"):
        STEP.apply(build(tmp_path))


def test_the_timer_is_enabled_if_nothing_starts_logrotate(node: Node, tmp_path: Path) -> None:
    (tmp_path / TIMER.lstrip("/")).unlink()
    with pytest.raises(Failure, match="LFN40  nothing starts logrotate"):
        STEP.verify(node)
    STEP.apply(node)
    assert node.host.changes[-2:] == ["enabled logrotate.timer", "started logrotate.timer"]


def test_cron_is_accepted_as_starter(node: Node, tmp_path: Path) -> None:
    (tmp_path / TIMER.lstrip("/")).unlink()
    file(tmp_path, "/etc/cron.daily/logrotate", "#!/bin/sh\n")
    assert "enabled logrotate.timer" not in applied(STEP, node)


def test_a_log_with_two_entries_is_reported(node: Node, tmp_path: Path) -> None:
    applied(STEP, node)
    file(tmp_path, "/etc/logrotate.d/zz", "/var/log/slurm/slurmd.log {\n}\n")
    with pytest.raises(Failure, match=r"LFN40  error: zz:1 duplicate log entry for /var/log/slurm/slurmd\.log"):
        STEP.verify(node)


def test_errors_in_other_entries_are_ignored(node: Node, tmp_path: Path) -> None:
    applied(STEP, node)
    file(tmp_path, "/etc/logrotate.d/x", "/var/log/a.log {\n}\n")
    file(tmp_path, "/etc/logrotate.d/y", "/var/log/a.log {\n}\n")
    STEP.verify(node)


def test_a_folder_that_logrotate_does_not_read_is_reported(node: Node, tmp_path: Path) -> None:
    applied(STEP, node)
    program(tmp_path, "logrotate", "print('reading config file /etc/logrotate.conf', file=sys.stderr)")
    with pytest.raises(Failure, match=r"LFN40  /etc/logrotate\.conf does not include /etc/logrotate\.d/llm-fleet"):
        STEP.verify(node)


def test_a_failing_logrotate_is_reported(node: Node, tmp_path: Path) -> None:
    applied(STEP, node)
    program(tmp_path, "logrotate", "sys.exit('error: cannot stat /etc/logrotate.conf')")
    with pytest.raises(Failure, match="LFN40"):
        STEP.verify(node)
