"""Turns Slurm's settings and accounting of a ParallelCluster configuration into those of a fleet file."""

from typing import Any

from llm_fleet.cli.importing.parallelcluster.section import Section
from llm_fleet.cli.importing.parallelcluster.values import amount, number, told, truth, unless
from llm_fleet.rules.parallelcluster.typed_keys import Place


def slurm(section: Section, scaling: Any) -> dict[str, Any]:
    """Return the keys of `slurm`; `scaling` is `ScalingStrategy`, which stands beside the section."""
    idle = number(section.take("ScaledownIdletime"))
    strategy = section.take("QueueUpdateStrategy")
    if strategy is None:
        section.notes.chosen("queues are updated by DRAIN, the fleet's default: no job is killed, no fleet stopped")
    return {
        **told(
            scaledown="never" if idle == -1 else amount(unless(idle, 10), "min"),
            scaling=unless(scaling, "all-or-nothing"),
            queue_update=unless(strategy, "DRAIN"),
            memory_based=unless(truth(section.take("EnableMemoryBasedScheduling")), False),
            settings=section.take("CustomSlurmSettings"),
            settings_file=section.take("CustomSlurmSettingsIncludeFile"),
        ),
        **section.overrides(Place.SLURM),
    }


def accounting(section: Section) -> dict[str, Any]:
    """Return the keys of `accounting`; empty for none."""
    host, _, port = str(section.take("Database/Uri") or "").partition(":")
    slurmdbd = section.take("ExternalSlurmdbd/Host")
    dbd_port = number(section.take("ExternalSlurmdbd/Port"))
    return told(
        endpoint=host or None,
        slurmdbd=slurmdbd,
        port=number(port) or dbd_port or None,
        user=section.take("Database/UserName"),
        secret=section.take("Database/PasswordSecretArn"),
        database=section.take("Database/DatabaseName"),
        munge_key=section.take("MungeKeySecretArn"),
    )
