"""MariaDB runs on the controller with a database for slurmdbd, unless the fleet has an external database."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import local_database
from llm_fleet_node.slurm.installation import found
from llm_fleet_node.step import CONTROLLER, ON_CREATE, Step


def _skip(node: Node) -> Optional[str]:
    accounting = node.manifest.accounting
    if accounting is None:
        return "accounting is off in this fleet"
    return None if accounting.kind == "local" else "accounting uses an external database"


def _apply(node: Node) -> None:
    local_database.prepare(node.host, found(node.host).etc)


def _verify(node: Node) -> None:
    problem = local_database.problem(node.host, found(node.host).etc)
    if problem:
        fail(Code.DATABASE, problem)


STEP = Step(
    name="accounting_database",
    summary="MariaDB has a database for job records",
    roles=frozenset({CONTROLLER}),
    hooks=frozenset({ON_CREATE}),
    needs=("hosts", "slurm_packages"),
    skip=_skip,
    apply=_apply,
    verify=_verify,
    timeout=180,
    retries=1,
)
