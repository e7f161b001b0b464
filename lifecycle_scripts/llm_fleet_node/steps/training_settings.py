"""Settings files of jobs on the node: paths and names in one file, the variables of the fabric in another.

Settings that require sudo are set by other steps: reserved ports and open files (`neuron_devices`), locked
memory (`efa_devices`, `slurmd`), Lustre's client (`mount_lustre`). Huge pages are not set: EFA's installer reserves
them at boot, by the node's own size (its package efa-config, since installer 1.5.1), and Neuron needs none.
"""

from __future__ import annotations

from llm_fleet_node.devices.efa import interfaces
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import limits, units
from llm_fleet_node.step import COMPUTE, EVERY_ROLE, ON_INIT_COMPLETE, Step
from llm_fleet_node.training import programs
from llm_fleet_node.training.of_group import fabric_of, why_no_training
from llm_fleet_node.training.settings_files import FABRIC_SH, TRAINING_SH, fabric_sh, training_sh


def _wanted(node: Node) -> dict[str, str]:
    """Return the text of each file. The fabric comes first: the other one sources it."""
    return {FABRIC_SH: fabric_sh(fabric_of(node)), TRAINING_SH: training_sh(node, programs.of_node(node))}


def _apply(node: Node) -> None:
    """Write the files."""
    for path, text in _wanted(node).items():
        node.host.write(path, text)


def _verify(node: Node) -> None:
    """Verify the files, and that jobs can lock memory."""
    for path, text in _wanted(node).items():
        if node.host.read(path) != text:
            fail(Code.TRAINING_SETTINGS, f"{path} does not match this bundle")
    _verify_limits(node)


def _verify_limits(node: Node) -> None:
    """Raise `Failure` if EFA cannot lock memory: jobs have at most the hard limit of slurmd.

    On the other hooks slurmd starts later: with our limits (`slurmd`), or with AWS ParallelCluster's.
    """
    if node.hook != ON_INIT_COMPLETE or node.role != COMPUTE or not interfaces(node.host):
        return
    (unit,) = units.look(node.host, "slurmd")
    found = limits.locked_memory(node.host, unit.pid) if unit.active else limits.UNLIMITED
    if found not in (limits.UNLIMITED, ""):
        reported = f"the locked memory limit of slurmd and its jobs is {found}; EFA requires unlimited"
        if limits.can_be_raised(node.host):
            fail(Code.ACCELERATOR_SETTINGS, reported)
        node.say(f"{reported}, but this machine is a container that cannot raise it")


STEP = Step(
    name="training_settings",
    summary="job settings are in /etc/llm-fleet/training.sh",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    needs=("training_programs",),
    skip=why_no_training,
)
