"""Slurm's settings and accounting in ParallelCluster's configuration."""

from typing import Any

from llm_fleet.parallelcluster.merge_overrides import merged, pruned
from llm_fleet.rules.accounting import AccountingLike
from llm_fleet.spec.parallelcluster import SlurmSettings


def render_slurm_settings(slurm: SlurmSettings, accounting: AccountingLike | None) -> dict[str, Any]:
    """Return `SlurmSettings`."""
    rendered = {
        "ScaledownIdletime": slurm.scaledown_idletime_minutes,
        "QueueUpdateStrategy": slurm.queue_update_strategy.value,
        "EnableMemoryBasedScheduling": slurm.memory_based_scheduling or None,
        "CustomSlurmSettings": [dict(lines) for lines in slurm.custom_settings],
        "CustomSlurmSettingsIncludeFile": slurm.custom_settings_file,
        **(_accounting(accounting) if accounting is not None else {}),
    }
    return merged(pruned(rendered), slurm.overrides)


def _accounting(accounting: AccountingLike) -> dict[str, Any]:
    database = {
        "Uri": accounting.database_uri,
        "UserName": accounting.user_name,
        "PasswordSecretArn": accounting.password_secret_arn,
        "DatabaseName": accounting.database_name,
    }
    return {
        "Database": {} if accounting.database_uri is None else pruned(database),
        "ExternalSlurmdbd": pruned({"Host": accounting.slurmdbd_host, "Port": accounting.slurmdbd_port}),
        "MungeKeySecretArn": accounting.munge_key_secret_arn,
    }
