"""What goes on around an endpoint, where one part has to fit another, or the endpoint."""

from typing import Any, Protocol

from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.endpoint_budget import EndpointBudgetLike, check_budget_readers
from llm_fleet.rules.sagemaker.endpoint_rollout import EndpointRolloutLike, check_rollout_of
from llm_fleet.rules.sagemaker.endpoint_scaling import EndpointScalingLike, check_scaled_count, least_count


class OperationsLike(Protocol):
    """What of an endpoint's operations other parts must fit (`EndpointOperations`)."""

    @property
    def scaling(self) -> EndpointScalingLike | None:
        """How it scales."""
        ...

    @property
    def rollout(self) -> EndpointRolloutLike:
        """How updates reach it."""
        ...

    @property
    def budget(self) -> EndpointBudgetLike | None:
        """What it may cost."""
        ...

    @property
    def alarm_topic(self) -> Any:
        """Who is told; `None` is nobody."""
        ...


def check_operations(operations: OperationsLike, *, instance_type: str, instance_count: int) -> list[Problem]:
    """Return what does not fit, by the attributes of `OperationsLike`.

    What is wrong with a part by itself is told by the part.
    """
    scaling, budget = operations.scaling, operations.budget
    least = least_count(scaling, instance_count) if scaling else instance_count
    problems = [
        *(problem.under("scaling") for problem in (check_scaled_count(scaling, instance_count) if scaling else [])),
        *(
            problem.under("rollout")
            for problem in check_rollout_of(operations.rollout, instance_type=instance_type, instance_count=least)
        ),
    ]
    if budget is not None:
        readers = check_budget_readers(budget, has_topic=operations.alarm_topic is not None)
        problems += [problem.under("budget") for problem in readers]
    return problems
