"""slurmd runs with the controller's configuration, and is registered there.

The login node runs it too: if HyperPod lists login nodes among Slurm's nodes, it monitors them, and with sackd, which
only fetches the configuration, they would be down. In a slurm.conf of llm-fleet no partition has login nodes. If
HyperPod does not list them, slurmd fetches the configuration and exits, and it is enough that the controller answers.
 assumption: hyperpod-login-nodes-in-slurm
"""

from __future__ import annotations

from collections.abc import Callable

from llm_fleet_node.devices.efa import interfaces
from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.names import own_name
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import controller, limits, units
from llm_fleet_node.slurm.bare_conf import gres_name
from llm_fleet_node.slurm.diagnosis import explain, is_hopeless
from llm_fleet_node.slurm.installation import found
from llm_fleet_node.slurm.registration import SENT, Registered, login_is_unlisted, registered
from llm_fleet_node.step import COMPUTE, LOGIN, ON_CREATE, ON_INIT_COMPLETE, Step
from llm_fleet_node.waiting import wait_for

_CONTROLLER_SECONDS = 300.0
"""Timeout for the controller to start: all nodes can start together, and its database is slow."""
_FIRST_SECONDS, _SECONDS = 12.0, 60.0
"""Timeout for slurmd to register, which takes 0.1 s; it retries after 10 s."""


_RESTARTS = "RestartSec=1\n"
_LOGIN_RESTARTS = "RestartSec=30\nRuntimeDirectoryPreserve=yes\n"
"""On a login node that the controller does not list, slurmd fetches the configuration and exits. systemd would then
remove /run/slurm, with the link to the configuration for sinfo and srun (tested with Slurm 24.11)."""


def _drop_in(node: Node) -> str:
    options = f"--conf-server {controller.conf_servers(controller.addresses(node))}"
    if not found(node.host).by_platform:
        options += f' -Z --conf "{_own_definition(node)}"'
    return (
        "[Unit]\nAfter=munge.service network-online.target remote-fs.target\nWants=munge.service\n"
        # slurmd can start before its controller, and retries.
        "StartLimitIntervalSec=0\n"
        # Jobs inherit the limit from slurmd: EFA locks the memory that it sends from.
        f"\n[Service]\nEnvironment='SLURMD_OPTIONS={options}'\nLimitMEMLOCK=infinity\n"
        f"Restart=on-failure\n{_LOGIN_RESTARTS if node.role == LOGIN else _RESTARTS}"
    )


def _own_definition(node: Node) -> str:
    """Return how a node without a NodeName line defines itself: its group, and its accelerators."""
    kind = node.instance_type
    gres = gres_name(kind.accelerator) if kind and kind.accelerators else ""
    return f"Feature={node.group.name}" + (f" Gres={gres}:{kind.accelerators}" if kind and gres else "")


def _apply(node: Node) -> None:
    if node.hook != ON_CREATE:
        return  # the AMI has started it
    units.stay_off(node.host, "slurmctld", "slurmdbd")
    node.host.folder("/var/spool/slurmd")
    node.host.folder("/var/log/slurm", owner="slurm")
    controller.wait_for_controller(node, seconds=_CONTROLLER_SECONDS)
    if _has_other_options(node):
        # Possibly of another controller: until slurmd has fetched it again, every query would wait for that one.
        node.host.remove(SENT)
    # Not waited for: a slurmd without a configuration is never ready, and does not exit.
    units.start(node.host, "slurmd", adds=_drop_in(node), wait=False)


def _has_other_options(node: Node) -> bool:
    """Return whether slurmd was set up with other options, such as another controller's address."""
    return node.host.read(units.drop_in("slurmd")) not in (None, _drop_in(node))


def _verify(node: Node) -> None:
    if node.hook == ON_CREATE and _has_other_options(node):
        # Not waited for: it may be registered with a controller that is gone and does not answer.
        fail(Code.SLURMD, f"slurmd has other options than {controller.conf_servers(controller.addresses(node))}")
    name = own_name(node.host).split(".")[0]

    def look() -> Registered | None:
        seen = registered(node.host, name)
        return seen if seen is not None and seen.responds else None

    if look() is not None:
        _verify_limits(node)
        return
    if login_is_unlisted(node, name):
        node.say(f"the controller answers and has no node {name}: users submit from here, and no slurmd is needed")
        return
    (unit,) = units.look(node.host, "slurmd")
    if not unit.active:
        explain(node, name, "slurmd is not running")
    try:
        _wait(node, name, lambda: look() is not None or login_is_unlisted(node, name))
    except Failure as error:
        explain(node, name, error.cause)
    _verify_limits(node)


def _verify_limits(node: Node) -> None:
    if node.hook == ON_CREATE and interfaces(node.host):
        (unit,) = units.look(node.host, "slurmd")
        limits.check_for_efa(node, unit.pid)


def _wait(node: Node, name: str, look: Callable[[], bool]) -> None:
    """Wait for the registration. Raises `Failure`, early if waiting does not help."""
    try:
        wait_for(f"registration of {name}", look, seconds=_FIRST_SECONDS, code=Code.SLURMD)
    except Failure:
        if is_hopeless(node.host):
            raise
        wait_for(f"registration of {name}", look, seconds=_SECONDS - _FIRST_SECONDS, code=Code.SLURMD)


STEP = Step(
    name="slurmd",
    summary="slurmd is registered with the controller",
    roles=frozenset({COMPUTE, LOGIN}),
    hooks=frozenset({ON_CREATE, ON_INIT_COMPLETE}),
    # Jobs start as soon as it is registered: their requirements must be ready.
    needs=("hosts", "munge", "slurm_conf", "disks", "mount_lustre", "mount_open_zfs", "directory", "users"),
    after=(
        "mount_s3",
        "ssh_between_nodes",
        "docker",
        "enroot",
        "neuron_devices",
        "gpu_devices",
        "efa_devices",
        "health_check",
        "training_environment",
        "training_settings",
        "compile_cache",
    ),
    apply=_apply,
    verify=_verify,
    timeout=420,
)
