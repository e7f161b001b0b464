"""The node is verified again after a reboot: HyperPod runs lifecycle scripts only once, and /tmp is emptied."""

from __future__ import annotations

from llm_fleet_node import checksums
from llm_fleet_node.boot.kept_bundles import CURRENT, FOLDER, forget_older, keep
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.step import EVERY_ROLE, ON_NODE_CONFIGURED, Step

UNIT = "llm-fleet.service"
_PATH = f"/etc/systemd/system/{UNIT}"
_AFTER = (
    "network-online.target remote-fs.target munge.service slurmdbd.service slurmctld.service slurmd.service "
    "docker.service containerd.service dlami-nvme.service"
)
"""The run checks these units and starts missing ones. It must not run before one of them: `systemctl start` would wait
for a unit that waits for this one."""


def _apply(node: Node) -> None:
    bundle = keep(node.host, node.places.bundle, node.manifest)
    node.host.write(_PATH, _unit(node))
    # As `systemctl enable`. The unit is not started, because this is the run; systemd reads it at the next boot.
    node.host.link(f"/etc/systemd/system/multi-user.target.wants/{UNIT}", _PATH)
    node.host.link(CURRENT, bundle)
    forget_older(node.host, node.places.bundle, node.manifest)


def _unit(node: Node) -> str:
    bundle = f"{FOLDER}/{node.manifest.content_hash}"
    # ParallelCluster passes the group only in this run, so the unit must contain it.
    hook = f"{node.hook} --group {node.group.name}" if node.hook == ON_NODE_CONFIGURED else node.hook
    return f"""[Unit]
Description=Verify this node again after a reboot (llm-fleet)
Wants=network-online.target
After={_AFTER}
ConditionPathExists={bundle}/enter.sh

[Service]
Type=oneshot
ExecStart=/bin/bash {bundle}/enter.sh {hook}
TimeoutStartSec=3600

[Install]
WantedBy=multi-user.target
"""


def _verify(node: Node) -> None:
    kept = node.host.path(f"{FOLDER}/{node.manifest.content_hash}")
    checksums.verify(kept, node.manifest.scripts_sha256)
    node.host.run("systemctl", "is-enabled", UNIT)
    if node.host.read(_PATH) != _unit(node):
        fail(Code.FILE_CHANGED, f"{_PATH} does not run {kept}")
    if not node.host.path(CURRENT).is_symlink() or node.host.path(CURRENT).readlink().name != kept.name:
        fail(Code.FILE_CHANGED, f"{CURRENT} is not {kept}")


STEP = Step(
    name="run_at_boot",
    summary="all steps are verified again after a reboot",
    roles=EVERY_ROLE,
    after=(
        "health_check",
        "slurm_ready",
        "slurm_accounts",
        "exporters",
        "pyxis",
        "mount_lustre",
        "mount_open_zfs",
        "mount_s3",
        "neuron_devices",
        "gpu_devices",
        "efa_devices",
        "ssh_between_nodes",
        "log_rotation",
        "clock",
    ),
    apply=_apply,
    verify=_verify,
    timeout=60,
    retries=1,
)
