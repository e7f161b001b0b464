"""How many tasks a service has, and what their number follows."""

import math
from collections.abc import Callable

from llm_fleet.catalog.limit import Limit
from llm_fleet.catalog.service import scaling_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import check_number
from llm_fleet.spec.service import Scaling, ServiceSpec

_TARGETS = ("queue_target", "requests_per_minute_target")


def check_scaling(service: ServiceSpec) -> list[Problem]:
    """Return what is wrong with the numbers of tasks and with the targets, by the attributes of `service`."""
    counts = _check_counts(service)
    targets = [
        *(problem for target in _TARGETS for problem in _check_target(service.scaling, target)),
        *_check_one_target(service.scaling),
        *([] if counts else _check_target_is_followed(service)),
    ]
    return [*(counts or _check_bounds(service)), *(problem.under("scaling") for problem in targets)]


def _check_counts(service: ServiceSpec) -> list[Problem]:
    """A service without a task could not scale either: there would be nobody to tell of a queue."""
    limit = Limit(minimum=1, maximum=scaling_facts().max_tasks)
    return [
        problem
        for attribute, what in (
            ("desired", "the number of tasks"),
            ("minimum", "the least number of tasks"),
            ("maximum", "the greatest number of tasks"),
        )
        for problem in check_number(getattr(service, attribute), limit, Code.SCALING_COUNT, attribute, what=what)
    ]


def _check_bounds(service: ServiceSpec) -> list[Problem]:
    desired, least, most = service.desired, service.minimum, service.maximum
    if _above(least, most):
        return [_out_of_bounds("minimum", least, f"the minimum is above the maximum, {most}", f"1 to {most}")]
    if _above(desired, most):
        fault = f"{desired} tasks are desired, and there may be {most} at most"
        return [_out_of_bounds("desired", desired, fault, f"up to {most}", f"write maximum {desired}")]
    if _above(least, desired):
        fault = f"{desired} tasks are desired, and there must be {least} at least"
        return [_out_of_bounds("desired", desired, fault, f"{least} or more", f"write minimum {desired}")]
    return []


def _above(left: int | None, right: int | None) -> bool:
    """Return whether both are known and `left` is the greater."""
    if left is None or right is None or is_unresolved(left) or is_unresolved(right):
        return False
    return left > right


def _out_of_bounds(attribute: str, value: int | None, fault: str, allowed: str, otherwise: str = "") -> Problem:
    return Problem(
        code=Code.SCALING_BOUNDS,
        path=(attribute,),
        value=value,
        message=fault,
        allowed=allowed,
        remedy=f"write a number in that range{f', or {otherwise}' if otherwise else ' or raise the maximum'}",
    )


def _check_target(scaling: Scaling, attribute: str) -> list[Problem]:
    value = getattr(scaling, attribute)
    if value is None or is_unresolved(value):
        return []
    number = type(value) in (int, float)
    if number and math.isfinite(value) and value > 0:
        return []
    return [
        Problem(
            code=Code.SCALING_TARGET,
            path=(attribute,),
            value=value,
            message="a target of scaling is a number above 0: what is shared by tasks can neither be nothing nor owed"
            if number
            else "a target of scaling is a number",
            allowed="a number above 0",
            remedy=_REMEDY[attribute](),
        )
    ]


def _queue_remedy() -> str:
    return f"leave it out for {scaling_facts().queue_target:g} request waiting in each task, or write how many may wait"


def _requests_remedy() -> str:
    return "write how many requests one task can answer in a minute, or leave it out to scale by the queue"


_REMEDY: dict[str, Callable[[], str]] = {
    "queue_target": _queue_remedy,
    "requests_per_minute_target": _requests_remedy,
}


def _check_one_target(scaling: Scaling) -> list[Problem]:
    if scaling.queue_target is None or scaling.requests_per_minute_target is None:
        return []
    return [
        Problem(
            code=Code.SCALING_TWO_TARGETS,
            path=("requests_per_minute_target",),
            value=scaling.requests_per_minute_target,
            message="both the queue and the requests per minute are given a target, and one of them is followed",
            remedy="keep `queue_target`, which knows how long answers are, or `requests_per_minute_target` alone",
        )
    ]


def _check_target_is_followed(service: ServiceSpec) -> list[Problem]:
    """A target that is given and never followed would be believed in."""
    told = [target for target in _TARGETS if getattr(service.scaling, target) is not None]
    tasks = service.tasks
    if not told or is_unresolved(tasks.maximum) or is_unresolved(tasks.minimum) or tasks.scales:
        return []
    return [
        Problem(
            code=Code.SCALING_FIXED,
            path=(target,),
            value=getattr(service.scaling, target),
            message=f"the number of tasks is always {tasks.maximum}, so no target is followed",
            remedy=f"write a `maximum` above {tasks.minimum}, or leave the target out",
        )
        for target in told
    ]
