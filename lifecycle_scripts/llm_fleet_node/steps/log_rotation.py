"""Logs are rotated before they fill the root disk, and Slurm's daemons reopen them."""

from __future__ import annotations

from llm_fleet_node import services
from llm_fleet_node.boot.rotation import FOLDER, disable_dead_entries, others_patterns, own_entry, slurm_entry
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed, Host
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, Step

_SLURM, _OWN = "llm-fleet-slurm", "llm-fleet"
_FILES = (_SLURM, _OWN)
_TIMER = "logrotate.timer"
_ENABLED = f"/etc/systemd/system/timers.target.wants/{_TIMER}"
_CRON = "/etc/cron.daily/logrotate"


def _apply(node: Node) -> None:
    host = node.host
    if host.which("logrotate") is None:
        fail(Code.LOG_ROTATION, "logrotate is not installed on this node", final=True)
    for name in _FILES:
        host.remove_drafts(f"{FOLDER}/{name}")  # logrotate reads hidden files too: it would count as another entry
    disable_dead_entries(host, _FILES)
    patterns = others_patterns(host, _FILES)
    slurm = slurm_entry(host, patterns)
    if slurm:
        host.write(f"{FOLDER}/{_SLURM}", slurm)
    else:
        host.remove(f"{FOLDER}/{_SLURM}")
    host.write(f"{FOLDER}/{_OWN}", own_entry(patterns))
    if not _is_started(host):
        services.run_unit(host, _TIMER)


def _is_started(host: Host) -> bool:
    """Return whether something starts logrotate every day."""
    return host.path(_ENABLED).is_symlink() or host.path(_CRON).exists()


def _verify(node: Node) -> None:
    host = node.host
    if not _is_started(host):
        fail(Code.LOG_ROTATION, f"nothing starts logrotate: {_TIMER} is not enabled, and {_CRON} does not exist")
    try:
        # It prints its plan on standard error, and continues after an error in one file.
        said = host.run("sh", "-c", "logrotate --debug /etc/logrotate.conf 2>&1")
    except CommandFailed as error:
        said = error.output
    errors = [line for line in said.splitlines() if line.startswith("error:") and _is_ours(line)]
    if errors:
        fail(Code.LOG_ROTATION, "; ".join(errors))
    for name in _FILES:
        if host.path(f"{FOLDER}/{name}").exists() and f"reading config file {name}" not in said:
            fail(Code.LOG_ROTATION, f"/etc/logrotate.conf does not include {FOLDER}/{name}: {said[:200]}")


def _is_ours(line: str) -> bool:
    return any(sign in line for sign in (*_FILES, "/var/log/slurm/", "/var/log/llm-fleet/", "/var/log/provision/"))


STEP = Step(
    name="log_rotation",
    summary="logs are rotated before they fill the disk",
    roles=EVERY_ROLE,
    after=("slurm_packages",),
    apply=_apply,
    verify=_verify,
    timeout=60,
)
