"""Slurm accounts: each user of the fleet can charge jobs to the account that the fleet names."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.node import Node
from llm_fleet_node.step import CONTROLLER, Step
from llm_fleet_node.users.slurm_accounts import Associations, accounting_cluster, make_missing


def _apply(node: Node) -> None:
    """Make the accounts and put the users into them. Who left the fleet file keeps theirs, with their records."""
    cluster = _cluster(node)
    if cluster:
        make_missing(node.host, Associations.read(node.host, cluster), node.manifest.users)


def _verify(node: Node) -> None:
    """Prove that slurmdbd knows all of them."""
    cluster = _cluster(node)
    if not cluster:
        return
    accounts, members = Associations.read(node.host, cluster).missing(node.manifest.users)
    if accounts or members:
        listed = [*accounts, *(f"{user} in {account}" for account, user in members)]
        fail(Code.SLURM_ACCOUNTS, f"slurmdbd does not know, in the cluster {cluster}: {', '.join(listed)}")


def _skip(node: Node) -> Optional[str]:
    """Nothing to do where no user is to have an account."""
    if any(user.slurm_account for user in node.manifest.users):
        return None
    return "no user of the fleet has a Slurm account"


def _cluster(node: Node) -> Optional[str]:
    """Return the cluster's name in the accounting; `None` where Slurm keeps none and the fleet asks for none."""
    cluster = accounting_cluster(node.host)
    if cluster is None:
        if node.manifest.accounting:
            fail(Code.SLURM_ACCOUNTS, "the fleet has accounting, and the Slurm that runs keeps no records")
        node.say("Slurm keeps no records here, so there are no accounts to make")
    return cluster


STEP = Step(
    name="slurm_accounts",
    summary="the fleet's users have their Slurm accounts",
    roles=frozenset({CONTROLLER}),
    apply=_apply,
    verify=_verify,
    needs=("users", "slurm_ready"),
    skip=_skip,
    timeout=60,
    retries=3,
)
