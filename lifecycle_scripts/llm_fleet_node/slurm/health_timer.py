"""Runs the health check every few minutes with a timer, if slurm.conf cannot name it."""

from __future__ import annotations

from llm_fleet_node.host import Host
from llm_fleet_node.services import is_active, needs_reload, reload_units
from llm_fleet_node.slurm.node_programs import HEALTH_CHECK

NAME = "llm-fleet-health-check"
_FOLDER = "/etc/systemd/system"
_SERVICE = """\
# Written by llm-fleet.
[Unit]
Description=llm-fleet: health check of this node
After=slurmd.service

[Service]
Type=oneshot
ExecStart={command}
TimeoutStartSec=60
Nice=10
"""
_TIMER = """\
# Written by llm-fleet.
[Unit]
Description=llm-fleet: health check every 5 minutes

[Timer]
OnActiveSec=60
OnUnitActiveSec=300
RandomizedDelaySec=60

[Install]
WantedBy=timers.target
"""


def put(host: Host, *, drains: bool = True) -> None:
    """Enable and start the timer with its current files.

    Not `drains`: an unhealthy node, such as a controller, is only reported: the unit fails, and its journal has why.
    """
    service = _SERVICE.format(command=HEALTH_CHECK if drains else f"{HEALTH_CHECK} --report")
    for kind, text in (("service", service), ("timer", _TIMER)):
        host.write(f"{_FOLDER}/{NAME}.{kind}", text)
    host.link(f"{_FOLDER}/timers.target.wants/{NAME}.timer", f"{_FOLDER}/{NAME}.timer")
    if needs_reload(host, f"{NAME}.service", f"{NAME}.timer"):  # from systemd, also after a run was killed here
        # Stopped first: after a kill here, the next run finds it stopped and starts it.
        host.run("systemctl", "stop", f"{NAME}.timer")
        reload_units(host)
    if not runs(host):
        host.run("systemctl", "start", f"{NAME}.timer", changes=f"started {NAME}.timer")


def take_away(host: Host) -> None:
    """Remove the timer, because slurmd runs the check."""
    if not host.path(f"{_FOLDER}/{NAME}.timer").exists():
        return
    host.run("systemctl", "stop", f"{NAME}.timer", changes=f"stopped {NAME}.timer")
    for path in (f"timers.target.wants/{NAME}.timer", f"{NAME}.service", f"{NAME}.timer"):
        host.remove(f"{_FOLDER}/{path}")


def runs(host: Host) -> bool:
    """Return whether the timer is active."""
    return is_active(host, f"{NAME}.timer")
