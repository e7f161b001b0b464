"""How often a job is started again, and how long after it failed."""

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.training_watch import training_watch_facts
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.watch_protocols import RestartPolicyLike
from llm_fleet.rules.tokens import is_unresolved


def check_restart(restart: RestartPolicyLike) -> list[Problem]:
    """Return what is wrong with the numbers of restarts and of waits, by the attributes of `RestartPolicyLike`."""
    limits = training_watch_facts().limits
    waits = Limit(minimum=1, maximum=limits.back_off_seconds)
    problems = [
        *check_number(
            restart.maximum,
            Limit(minimum=0, maximum=limits.restarts),
            SageMakerCode.WATCH_RESTARTS,
            "maximum",
            what="the number of restarts",
            remedy="write how often one job may be started again; 0 for a watch that only tells",
        ),
        *check_number(
            restart.back_off_seconds,
            waits,
            SageMakerCode.WATCH_RESTARTS,
            "back_off_seconds",
            what="the wait before the first restart",
        ),
        *check_number(
            restart.longest_back_off_seconds,
            waits,
            SageMakerCode.WATCH_RESTARTS,
            "longest_back_off_seconds",
            what="the longest wait before a restart",
        ),
    ]
    return problems or _check_order(restart)


def most_restarts(restart: RestartPolicyLike) -> int:
    """Return how often one job is started again."""
    return training_watch_facts().restart.maximum if restart.maximum is None else restart.maximum


def first_wait(restart: RestartPolicyLike) -> int:
    """Return the seconds before the first restart."""
    default = training_watch_facts().restart.back_off_seconds
    return default if restart.back_off_seconds is None else restart.back_off_seconds


def longest_wait(restart: RestartPolicyLike) -> int:
    """Return the seconds that no wait is longer than: where only the first is told, never less than that."""
    if restart.longest_back_off_seconds is not None:
        return restart.longest_back_off_seconds
    default = training_watch_facts().restart.longest_back_off_seconds
    return default if is_unresolved(first_wait(restart)) else max(default, first_wait(restart))


def restarts_at_max_runtime(restart: RestartPolicyLike) -> bool:
    """Return whether a job that was stopped for its length goes on in another."""
    return training_watch_facts().restart.at_max_runtime if restart.at_max_runtime is None else restart.at_max_runtime


def _check_order(restart: RestartPolicyLike) -> list[Problem]:
    first, longest = first_wait(restart), longest_wait(restart)
    if is_unresolved(first) or is_unresolved(longest) or first <= longest:
        return []
    return [
        Problem(
            code=SageMakerCode.WATCH_RESTARTS,
            path=("longest_back_off_seconds",),
            value=longest,
            message=f"no wait is longer than {longest} s, and the first alone is {first} s",
            allowed=f"{first} or more",
            remedy=f"write {first} or more, or a shorter first wait",
        )
    ]
