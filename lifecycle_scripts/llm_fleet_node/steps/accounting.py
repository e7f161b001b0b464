"""slurmdbd answers before slurmctld's first start: otherwise both generate different cluster ids."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.marked_block import get_block, put_block
from llm_fleet_node.names import own_name
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import local_database, slurmdbd
from llm_fleet_node.slurm.external_database import storage_of
from llm_fleet_node.slurm.installation import found
from llm_fleet_node.step import CONTROLLER, ON_CREATE, ON_INIT_COMPLETE, Step
from llm_fleet_node.users.slurm_enforcement import enforcing_lines

_BLOCK = "accounting"


def _skip(node: Node) -> Optional[str]:
    return None if node.manifest.accounting else "accounting is off in this fleet"


def _apply(node: Node) -> None:
    accounting = node.manifest.accounting
    if node.hook != ON_CREATE or accounting is None:
        return  # the AMI has set it up
    etc = found(node.host).etc
    if accounting.kind == "local":
        after = local_database.unit_name(node.host)
    else:
        after = ""
        slurmdbd.write(node.host, etc, storage_of(node, accounting))
    slurmdbd.start(node.host, etc, after=after)
    # Last: after this, slurmctld does not start without slurmdbd.
    put_block(node.host, f"{etc}/accounting.conf", _BLOCK, _settings(node))


def _settings(node: Node) -> str:
    # No AccountingStorageEnforce without limits: users that only the platform has could submit no jobs.
    return (
        "AccountingStorageType=accounting_storage/slurmdbd\n"
        f"AccountingStorageHost={own_name(node.host)}\n"
        "JobAcctGatherType=jobacct_gather/linux\n"
        f"{enforcing_lines(node.manifest.slurm_accounts or None)}"
    )


def _verify(node: Node) -> None:
    etc = found(node.host).etc
    if node.hook == ON_CREATE and get_block(node.host, f"{etc}/accounting.conf", _BLOCK) != _settings(node):
        fail(Code.SLURM_CONF, f"{etc}/accounting.conf does not set the address of slurmdbd")
    if not slurmdbd.answers(node.host):
        slurmdbd.explain(node.host, "slurmdbd does not answer")


STEP = Step(
    name="accounting",
    summary="slurmdbd stores job records",
    roles=frozenset({CONTROLLER}),
    hooks=frozenset({ON_CREATE, ON_INIT_COMPLETE}),
    needs=("hosts", "munge", "accounting_database"),
    skip=_skip,
    apply=_apply,
    verify=_verify,
    timeout=240,
    retries=1,
)
