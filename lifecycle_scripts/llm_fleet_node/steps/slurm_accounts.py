"""Slurm accounts: each user can charge jobs to an account, and accounts have the limits that the fleet names."""

from __future__ import annotations

from typing import Optional

from llm_fleet_node.failures import Code, fail
from llm_fleet_node.marked_block import get_block
from llm_fleet_node.node import Node
from llm_fleet_node.slurm import conf_file
from llm_fleet_node.slurm.installation import found
from llm_fleet_node.step import CONTROLLER, ON_INIT_COMPLETE, Step
from llm_fleet_node.users import slurm_enforcement
from llm_fleet_node.users.account_files import AccountFiles
from llm_fleet_node.users.slurm_accounts import Associations, accounting_cluster, make_missing, put_image_user
from llm_fleet_node.users.slurm_limits import apply_limits, limit_problems

_IMAGE_UID = 1000
"""Users of images: `ubuntu` or `ec2-user`."""


def _apply(node: Node) -> None:
    """Make the accounts and add the users. Users who were removed from the fleet file keep theirs, with the records."""
    cluster, accounts = _cluster(node), node.manifest.slurm_accounts
    if not cluster:
        return
    if accounts:
        if node.hook == ON_INIT_COMPLETE:
            slurm_enforcement.count_in_platforms(node.host, found(node.host).etc, accounts)
        slurm_enforcement.check_counted(node.host, accounts)
        apply_limits(node.host, cluster, accounts)
    associations = Associations.read(node.host, cluster)
    make_missing(node.host, associations, node.manifest.users)
    if accounts:
        put_image_user(node.host, associations, _image_user(node), accounts.image_account)
    if node.hook == ON_INIT_COMPLETE:
        # Last: after this, users without an account cannot submit jobs.
        slurm_enforcement.put_into_platforms(node.host, found(node.host).etc, accounts or None)


def _verify(node: Node) -> None:
    """Verify accounts and limits in slurmdbd, and that slurmctld enforces the limits."""
    cluster = _cluster(node)
    if not cluster:
        return
    accounts, members = Associations.read(node.host, cluster).missing(node.manifest.users)
    if accounts or members:
        listed = [*accounts, *(f"{user} in {account}" for account, user in members)]
        fail(Code.SLURM_ACCOUNTS, f"slurmdbd does not have in the cluster {cluster}: {', '.join(listed)}")
    if node.manifest.slurm_accounts:
        problems = limit_problems(node.host, cluster, node.manifest.slurm_accounts)
        if problems:
            fail(Code.SLURM_LIMITS, f"in the cluster {cluster}: {'; '.join(problems)}")
        slurm_enforcement.check_enforced(node.host, node.manifest.slurm_accounts)


def _image_user(node: Node) -> str:
    entry = AccountFiles.of(node.host).uid(_IMAGE_UID)
    return entry.name if entry else ""


def _skip(node: Node) -> Optional[str]:
    """Skipped if no user has an account, and no limit is set or was set before."""
    if any(user.slurm_account for user in node.manifest.users) or node.manifest.slurm_accounts:
        return None
    if node.host.which("scontrol"):
        path = f"{found(node.host).etc}/{conf_file.NAME}"
        if get_block(node.host, path, slurm_enforcement.BLOCK):
            return None
    return "no user of the fleet has a Slurm account"


def _cluster(node: Node) -> Optional[str]:
    """Return the cluster's name in the accounting; `None` if accounting is off in Slurm and in the fleet."""
    cluster = accounting_cluster(node.host)
    if cluster is None:
        if node.manifest.accounting or node.manifest.slurm_accounts:
            fail(Code.SLURM_ACCOUNTS, "the fleet has accounting, but the running Slurm keeps no records")
        node.say("Slurm keeps no records here, so there are no accounts to make")
    return cluster


STEP = Step(
    name="slurm_accounts",
    summary="the fleet's users have Slurm accounts, with the limits of the fleet file",
    roles=frozenset({CONTROLLER}),
    apply=_apply,
    verify=_verify,
    needs=("users", "slurm_ready"),
    skip=_skip,
    timeout=120,
    retries=3,
)
