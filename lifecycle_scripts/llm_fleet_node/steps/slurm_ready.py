"""Slurm accepts jobs: the controller answers and can schedule jobs, or this node can run them."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.names import own_name
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import conf_file
from llm_fleet_node.slurm.daemon_folders import prove_room, spool_folder, state_folder
from llm_fleet_node.slurm.installation import found
from llm_fleet_node.slurm.node_programs import HEALTH_CHECK
from llm_fleet_node.slurm.registration import Registered, configuration, login_is_unlisted, registered
from llm_fleet_node.step import CONTROLLER, EVERY_ROLE, ON_CREATE, ON_NODE_CONFIGURED, Step

_NO_TOPOLOGY = "topology configuration is not available"


def _skip(node: Node) -> Optional[str]:
    if node.hook == ON_NODE_CONFIGURED and node.role != CONTROLLER:
        return "AWS ParallelCluster starts slurmd after this"
    return None


def _apply(node: Node) -> None:
    """Resume the node if the reason of its drain no longer applies. Drains by others stay."""
    if node.role == CONTROLLER or node.hook != ON_CREATE:
        return
    name = _name(node)
    seen = registered(node.host, name)
    if seen is None or seen.works:
        return
    if seen.held_by_us and node.host.path(HEALTH_CHECK).exists():
        node.host.run(str(node.host.path(HEALTH_CHECK)), "--resume", timeout=90)  # only if it is healthy
    elif seen.by_slurm and seen.had_no_room:
        _prove_spool(node)
        node.host.run("scontrol", "update", f"nodename={name}", "state=resume", changes=f"resumed {name}")
    elif seen.responds and seen.was_away:
        node.host.run("scontrol", "update", f"nodename={name}", "state=resume", changes=f"resumed {name}")


def _verify(node: Node) -> None:
    if node.role == CONTROLLER:
        _verify_controller(node)
    else:
        _verify_worker(node)


def _verify_worker(node: Node) -> None:
    name = _name(node)
    seen = registered(node.host, name)
    if seen is None:
        if login_is_unlisted(node, name):
            return  # as the step slurmd has logged
        fail(Code.SLURMD, f"the controller has no node {name}")
    _prove_spool(node)
    if seen.works:
        return
    reported = f"{name} is {_shown(seen)}, reason: {seen.reason or 'none'}"
    if seen.held_by_us:
        fail(Code.HEALTH_CHECK, reported)
    if not seen.responds or not seen.held_by_others:
        fail(Code.NODE_NOT_READY, reported)
    # A user drained it, or the platform replaces it and resumes it after this start has succeeded.
    node.say(f"{reported}: not changed")


def _prove_spool(node: Node) -> None:
    """Raise `Failure` if slurmd cannot write its spool folder: jobs here would fail, or drain the node."""
    prove_room(node.host, spool_folder(node.host, configuration(node.host)))


def _verify_controller(node: Node) -> None:
    # A slurmctld that cannot save its state still answers, but rejects every job.
    prove_room(node.host, state_folder(conf_file.read(node.host, found(node.host).etc)))
    try:
        if "is UP" not in node.host.run("scontrol", "ping", timeout=20):
            fail(Code.SLURMCTLD, "slurmctld does not answer")
    except CommandFailed as error:
        fail(Code.SLURMCTLD, error.cause)
    try:
        node.host.run("sbatch", "--test-only", "--nodes=1", "--wrap=true", timeout=20)
    except CommandFailed as error:
        # Other errors, such as no nodes yet, are not failures of the controller.
        if _NO_TOPOLOGY in error.output:
            fail(Code.TOPOLOGY, error.output.strip())


def _shown(seen: Registered) -> str:
    states = "+".join(sorted(seen.states))
    return states if seen.responds else f"{states} and does not respond"


def _name(node: Node) -> str:
    return own_name(node.host).split(".")[0]


STEP = Step(
    name="slurm_ready",
    summary="Slurm accepts jobs",
    roles=EVERY_ROLE,
    needs=("slurmctld", "slurmd"),
    skip=_skip,
    apply=_apply,
    verify=_verify,
    timeout=120,
    retries=1,
)
