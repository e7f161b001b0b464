"""Pyxis: `srun --container-image` works on every node.

On the controller it runs before slurmctld starts, which sends `plugstack.conf` to all nodes; on the others after
slurmd has fetched it, because srun needs it.
"""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.containers.plugstack import find_plugin, is_right, put_pyxis, times_loaded
from llm_fleet_node.failures import Code, fail
from llm_fleet_node.host import CommandFailed
from llm_fleet_node.node import Node
from llm_fleet_node.services import is_active
from llm_fleet_node.slurm import conf_file, installation
from llm_fleet_node.step import CONTROLLER, EVERY_ROLE, Step

_REPORTED_LATER = "/var/lib/llm-fleet/pyxis-not-yet-reported"
"""Exists while plugstack.conf was changed but slurmctld may not be reconfigured yet, also after a kill."""


def _apply(node: Node) -> None:
    """Load pyxis once, in the controller's files. Other nodes use these files, and must not write them."""
    host = node.host
    path, plugin = _plugstack(node), find_plugin(host)
    if path is None or plugin is None:
        return
    configless = _is_configless(node)
    if not is_right(times_loaded(host, path), configless=configless):
        host.write(_REPORTED_LATER, "")
        put_pyxis(host, path, plugin, configless=configless)
    if host.read(_REPORTED_LATER) is not None:
        if is_active(host, "slurmctld.service"):
            host.run("scontrol", "reconfigure", changes="reconfigured slurmctld for plugstack.conf")
        host.remove(_REPORTED_LATER)


def _verify(node: Node) -> None:
    """Verify that srun has pyxis's options, which requires a plugin that was built for this Slurm."""
    host = node.host
    path = _plugstack(node)
    loaded = times_loaded(host, path) if path else []
    if path and not is_right(loaded, configless=_is_configless(node)):
        where = ", ".join(f"{item.line.path}:{item.line.number + 1}" for item in loaded) or "nowhere"
        reported = "" if len(loaded) != 1 else ", which Slurm does not send to other nodes"
        fail(Code.PYXIS, f"{path} loads pyxis {len(loaded)} times ({where}){reported}")
    try:
        said = host.run("srun", "--help")
    except CommandFailed as error:
        fail(Code.PYXIS, f"srun does not start: {error.output.strip()}")
    if "--container-image" not in said:
        fail(Code.PYXIS, "srun has no option --container-image")


def _skip(node: Node) -> Optional[str]:
    """Skipped without pyxis, which only the AMI can contain."""
    return None if find_plugin(node.host) else "the node has no pyxis"


def _is_configless(node: Node) -> bool:
    """Return whether other nodes get plugstack.conf from slurmctld, not from a shared folder."""
    conf = conf_file.read(node.host, installation.found(node.host).etc)
    return "enable_configless" in ((conf.value("SlurmctldParameters") if conf else None) or "")


def _plugstack(node: Node) -> Optional[str]:
    """Return the path of the controller's `plugstack.conf`; `None` on another node."""
    if node.role != CONTROLLER:
        return None
    etc = installation.found(node.host).etc
    conf = conf_file.read(node.host, etc)
    return (conf.value("PlugStackConfig") if conf else None) or f"{etc}/plugstack.conf"


STEP = Step(
    name="pyxis",
    summary="srun accepts --container-image",
    roles=EVERY_ROLE,
    apply=_apply,
    verify=_verify,
    needs=("slurm_packages", "slurm_conf", "slurmd"),
    after=("docker", "enroot"),
    skip=_skip,
)
