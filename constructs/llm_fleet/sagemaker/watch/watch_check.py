"""Everything that can be wrong with the arguments of a watch."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns

from llm_fleet.rules.problem import raise_problems
from llm_fleet.rules.sagemaker.watch_conditions import check_grace
from llm_fleet.rules.sagemaker.watch_followed import check_room
from llm_fleet.rules.sagemaker.watch_prefixes import check_others_restart, check_prefixes, check_watch_name
from llm_fleet.rules.sagemaker.watch_restart import most_restarts
from llm_fleet.sagemaker.watch.checkpoint_layout import CheckpointLayout
from llm_fleet.sagemaker.watch.conditions import WatchCondition, check_kinds
from llm_fleet.sagemaker.watch.followed_cluster import check_clusters
from llm_fleet.sagemaker.watch.restart_policy import RestartPolicy
from llm_fleet.sagemaker.watch.watch_forms import check_watch_forms
from llm_fleet.sagemaker.watch.watched_jobs import WatchedJobs


def check_watch(
    subject: str,
    *,
    name: str,
    restart: RestartPolicy | None,
    conditions: Sequence[WatchCondition],
    checkpoints: CheckpointLayout | None,
    grace_minutes: int | None,
    clusters: Sequence[Any],
    others: Sequence[WatchedJobs],
    topic: sns.ITopic | None,
    encryption_key: kms.IKey | None,
) -> None:
    """Raise `FleetError` about `subject` with everything that is wrong with the arguments of `TrainingWatch`."""
    wrong = check_watch_forms(
        name=name,
        restart=restart,
        conditions=conditions,
        checkpoints=checkpoints,
        others=others,
        clusters=clusters,
        topic=topic,
        encryption_key=encryption_key,
    )
    raise_problems(wrong, subject=subject)
    restarts = bool(most_restarts(restart or RestartPolicy()))
    prefixes = [jobs.prefix for jobs in others]
    raise_problems(
        [
            *check_watch_name(name),
            *check_kinds(conditions),
            *check_grace(grace_minutes),
            *check_clusters(clusters),
            *check_prefixes(prefixes, "others"),
            *check_room(prefixes),
            *(
                problem.under("others", index)
                for index, jobs in enumerate(others)
                for problem in check_others_restart(jobs, restarts=restarts)
            ),
        ],
        subject=subject,
    )
