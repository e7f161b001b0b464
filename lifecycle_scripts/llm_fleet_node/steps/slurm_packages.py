"""Slurm's programs are installed: the platform's if it has them, otherwise the distribution's."""

from __future__ import annotations

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.packages import install
from llm_fleet_node.slurm.installation import find
from llm_fleet_node.step import COMPUTE, CONTROLLER, EVERY_ROLE, LOGIN, ON_CREATE, Step

_DAEMON = {CONTROLLER: "slurmctld", LOGIN: "slurmd", COMPUTE: "slurmd"}
_PROGRAMS = ("scontrol", "munged")


def _packages(node: Node) -> list[str]:
    """Names on Debian and Ubuntu. Red Hat's family, Amazon Linux too, has no Slurm in its own repositories."""
    names = ["munge", "slurm-client", "slurm-wlm-basic-plugins", _DAEMON[node.role]]
    if node.role == CONTROLLER and node.manifest.accounting is not None:
        names += ["slurmdbd", "slurm-wlm-mysql-plugin"]
        if node.manifest.accounting.kind == "local":
            names += ["mariadb-server", "mariadb-client"]
    return names


def _apply(node: Node) -> None:
    slurm = find(node.host)
    if slurm is not None and slurm.by_platform:
        return
    if node.host.which("apt-get") is None:
        fail(Code.SLURM_MISSING, "no Slurm in /opt/slurm, and this distribution has no Slurm packages", final=True)
    install(node, _packages(node))


def _verify(node: Node) -> None:
    for program in (*_PROGRAMS, _DAEMON[node.role]):
        if node.host.which(program) is None:
            fail(Code.SLURM_MISSING, f"{program} is missing, which a {node.role} node requires")


STEP = Step(
    name="slurm_packages",
    summary="Slurm is installed",
    roles=EVERY_ROLE,
    hooks=frozenset({ON_CREATE}),
    apply=_apply,
    verify=_verify,
    timeout=1500,  # timeout of packages.install, and of the rest
)
