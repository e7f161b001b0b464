"""The parts of `fleet.json` about people: Slurm's accounts and the directory. Left out where nobody asks for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from llm_fleet.catalog.slurm import slurm_limit_facts
from llm_fleet.lifecycle.directory.directory import Directory
from llm_fleet.lifecycle.directory.sssd_options import sssd_options
from llm_fleet.lifecycle.slurm_account import SlurmAccount


def render_people(accounts: Sequence[SlurmAccount], directory: Directory | None) -> dict[str, Any]:
    """Return the keys that a manifest has for them; none without them, so that other manifests stay as they are."""
    told: dict[str, Any] = {}
    if accounts:
        told["slurm_accounts"] = {
            "image_account": slurm_limit_facts().image_account,
            "enforce": list(slurm_limit_facts().enforce),
            "counted": counted_resources(accounts),
            "tree": [_account(account) for account in _from_the_root(accounts)],
        }
    if directory is not None:
        told["directory"] = _directory(directory)
    return told


def counted_resources(accounts: Sequence[SlurmAccount]) -> list[str]:
    """Return the resources that Slurm must be told to count (`AccountingStorageTRES`) before it can limit them."""
    named = {name for account in accounts for limits in (account.grp_tres, account.max_tres_per_job) for name in limits}
    return sorted(named - {*slurm_limit_facts().counted})


def _from_the_root(accounts: Sequence[SlurmAccount]) -> list[SlurmAccount]:
    """Return `accounts` with each behind the one above it: sacctmgr makes none below one that is not there."""
    ordered: list[SlurmAccount] = []
    waiting = list(accounts)
    while waiting:
        placed = {account.name for account in ordered}
        # One above that is a token, known at deploy time alone, holds nobody up.
        ready = [one for one in waiting if one.parent in (None, *placed)] or waiting
        ordered += ready
        waiting = [account for account in waiting if account not in ready]
    return ordered


def _account(account: SlurmAccount) -> dict[str, Any]:
    counts = {
        "Fairshare": account.fairshare,
        "GrpJobs": account.grp_jobs,
        "GrpSubmitJobs": account.grp_submit_jobs,
        "MaxJobs": account.max_jobs,
        "MaxSubmitJobs": account.max_submit_jobs,
        "MaxWall": account.max_wall_minutes,
    }
    return {
        "name": account.name,
        "parent": account.parent or slurm_limit_facts().root_account,
        "counts": [{"option": option, "limit": limit} for option, limit in counts.items()],
        "resources": [
            {"option": "GrpTRES", "limits": _limits(account.grp_tres)},
            {"option": "MaxTRES", "limits": _limits(account.max_tres_per_job)},
        ],
    }


def _limits(given: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"resource": name, "limit": limit} for name, limit in sorted(given.items())]


def _directory(directory: Directory) -> dict[str, Any]:
    return {
        "domain": directory.domain,
        "uris": list(directory.uris),
        "bind_dn": directory.bind_dn,
        "bind_secret_arn": directory.bind_secret.secret_arn,
        "certificate_on_nodes": directory.certificate_on_nodes,
        "certificate_text": directory.certificate_text,
        "options": [{"name": name, "value": value} for name, value in sssd_options(directory).items()],
        "user_filter": directory.user_filter,
        "sudo_groups": list(directory.sudo_groups),
        "ssh_keys": directory.ssh_public_key_attribute is not None,
        "test_user": directory.test_user,
    }
