"""Whether Slurm holds jobs to the limits of their accounts: a line of slurm.conf, which the running slurmctld has read.

Where our steps configure Slurm (OnCreate), the line is in accounting.conf. On HyperPod's own configuration it is a
block in slurm.conf, which the strategy Merge leaves alone; on ParallelCluster it comes by `CustomSlurmSettings`.
"""

from __future__ import annotations

import re

from llm_fleet_node.failures import Code, Failure, fail
from llm_fleet_node.host import Host
from llm_fleet_node.marked_block import put_block
from llm_fleet_node.people_parts import SlurmAccounts
from llm_fleet_node.slurm import conf_file
from llm_fleet_node.waiting import wait_for

BLOCK = "limits of accounts"
_SECONDS = 20.0
"""For slurmctld to read its configuration anew."""
_SETTING = re.compile(r"^(AccountingStorage(?:Enforce|TRES))\s*=\s*(.*?)\s*$", re.MULTILINE)


def enforcing_lines(accounts: SlurmAccounts | None) -> str:
    """Return the lines of slurm.conf that make limits hold; empty where there are none."""
    if accounts is None:
        return ""
    counted = f"AccountingStorageTRES={','.join(accounts.counted)}\n" if accounts.counted else ""
    return f"AccountingStorageEnforce={','.join(accounts.enforce)}\n{counted}"


def unenforced(host: Host, accounts: SlurmAccounts) -> str:
    """Say what the running slurmctld lacks; empty when it holds jobs to their limits."""
    running = {key: value.lower().split(",") for key, value in _SETTING.findall(host.run("scontrol", "show", "config"))}
    for key, wanted in (("AccountingStorageEnforce", accounts.enforce), ("AccountingStorageTRES", accounts.counted)):
        missing = [word for word in wanted if word not in running.get(key, [])]
        if missing:
            return f"{key} without {', '.join(missing)}"
    return ""


def put_into_platforms(host: Host, etc: str, accounts: SlurmAccounts | None) -> None:
    """Put the lines into the slurm.conf that the platform has written, or take them out, and have them read."""
    changed = put_block(host, f"{etc}/{conf_file.NAME}", BLOCK, enforcing_lines(accounts))
    if not changed and (accounts is None or not unenforced(host, accounts)):
        return
    host.run("scontrol", "reconfigure", changes="made Slurm read its configuration anew")
    if accounts is not None and not _soon(host, accounts):
        # Some releases read what they count only at their start (unverified which).
        host.run("systemctl", "restart", "slurmctld.service", timeout=110, changes="restarted slurmctld")
        _soon(host, accounts)


def check_enforced(host: Host, accounts: SlurmAccounts) -> None:
    """Raise `Failure` unless limits hold."""
    missing = unenforced(host, accounts)
    if missing:
        fail(Code.LIMITS_NOT_ENFORCED, f"slurmctld runs {missing}, so no job is held to its account's limits")


def _soon(host: Host, accounts: SlurmAccounts) -> bool:
    try:
        return wait_for(
            "enforced limits", lambda: not unenforced(host, accounts), seconds=_SECONDS, code=Code.LIMITS_NOT_ENFORCED
        )
    except Failure:
        return False
