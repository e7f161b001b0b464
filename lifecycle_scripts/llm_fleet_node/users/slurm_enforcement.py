"""Enforcement of account limits: a line of slurm.conf that the running slurmctld has read.

If llm-fleet configures Slurm (OnCreate), the line is in accounting.conf. With HyperPod's own configuration it is a
block in slurm.conf, which the strategy Merge keeps; on ParallelCluster it comes from `CustomSlurmSettings`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import Host
from llm_fleet_node.marked_block import get_block, put_block
from llm_fleet_node.people_parts import SlurmAccounts
from llm_fleet_node.slurm import conf_file
from llm_fleet_node.waiting import wait_for

BLOCK = "limits of accounts"
_ENFORCE, _COUNT = "AccountingStorageEnforce", "AccountingStorageTRES"
_SECONDS = 20.0
"""Timeout for slurmctld to reload its configuration."""
_SETTING = re.compile(r"^(AccountingStorage(?:Enforce|TRES))\s*=\s*(.*?)\s*$", re.MULTILINE)


def enforcing_lines(accounts: SlurmAccounts | None) -> str:
    """Return the lines of slurm.conf that enforce limits; empty without limits."""
    if accounts is None:
        return ""
    return f"{_ENFORCE}={','.join(accounts.enforce)}\n{_counting_line(accounts)}"


def _counting_line(accounts: SlurmAccounts) -> str:
    return f"{_COUNT}={','.join(accounts.counted)}\n" if accounts.counted else ""


def unenforced(host: Host, accounts: SlurmAccounts) -> str:
    """Describe what the running slurmctld lacks; empty if it enforces limits."""
    return _lacking(host, {_ENFORCE: accounts.enforce, _COUNT: accounts.counted})


def _lacking(host: Host, wanted: Mapping[str, Sequence[str]]) -> str:
    running = {key: value.lower().split(",") for key, value in _SETTING.findall(host.run("scontrol", "show", "config"))}
    for key, words in wanted.items():
        missing = [word for word in words if word not in running.get(key, [])]
        if missing:
            return f"{key} without {', '.join(missing)}"
    return ""


def count_in_platforms(host: Host, etc: str, accounts: SlurmAccounts) -> None:
    """Make Slurm count the limited resources: sacctmgr accepts a resource only after slurmctld has sent it to slurmdbd.

    This does not turn on enforcement: users may have no account yet.
    """
    wanted = {_COUNT: accounts.counted}
    if not _lacking(host, wanted):
        return
    there = get_block(host, f"{etc}/{conf_file.NAME}", BLOCK) or ""
    lines = enforcing_lines(accounts) if _ENFORCE in there else _counting_line(accounts)
    put_block(host, f"{etc}/{conf_file.NAME}", BLOCK, lines)
    _have_read(host, wanted)


def put_into_platforms(host: Host, etc: str, accounts: SlurmAccounts | None) -> None:
    """Add the lines to the platform's slurm.conf, or remove them, and reload it."""
    changed = put_block(host, f"{etc}/{conf_file.NAME}", BLOCK, enforcing_lines(accounts))
    if not changed and (accounts is None or not unenforced(host, accounts)):
        return
    _have_read(host, {} if accounts is None else {_ENFORCE: accounts.enforce, _COUNT: accounts.counted})


def check_counted(host: Host, accounts: SlurmAccounts) -> None:
    """Raise `Failure` unless Slurm counts the limited resources: sacctmgr would reject their limits."""
    missing = _lacking(host, {_COUNT: accounts.counted})
    if missing:
        fail(Code.LIMITS_NOT_ENFORCED, f"the running slurmctld has {missing}, so slurmdbd cannot have this limit")


def _have_read(host: Host, wanted: Mapping[str, Sequence[str]]) -> None:
    """Reconfigure slurmctld, and restart it if it does not have the `wanted` settings then."""
    host.run("scontrol", "reconfigure", changes="reconfigured Slurm")
    if not _soon(host, wanted):
        # 24.11 counts new resources immediately (tested). assumption: slurmctld-counts-new-resources-on-reconfigure
        host.run("systemctl", "restart", "slurmctld.service", timeout=110, changes="restarted slurmctld")
        _soon(host, wanted)


def check_enforced(host: Host, accounts: SlurmAccounts) -> None:
    """Raise `Failure` unless limits are enforced."""
    missing = unenforced(host, accounts)
    if missing:
        fail(Code.LIMITS_NOT_ENFORCED, f"the running slurmctld has {missing}, so account limits are not enforced")


def _soon(host: Host, wanted: Mapping[str, Sequence[str]]) -> bool:
    try:
        return wait_for(
            "enforced limits", lambda: not _lacking(host, wanted), seconds=_SECONDS, code=Code.LIMITS_NOT_ENFORCED
        )
    except Failure:
        return False
