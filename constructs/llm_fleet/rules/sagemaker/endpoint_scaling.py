"""How many instances an endpoint has, and what their number follows."""

from typing import Protocol

from llm_fleet.catalog.endpoint_operations import endpoint_scaling_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.sagemaker.positive import check_positive
from llm_fleet.rules.tokens import is_unresolved

_TARGETS = {"concurrent_requests": "requests at a time", "invocations_per_minute": "requests in a minute"}
_COOLDOWNS = {"scale_in_seconds": "before instances are taken", "scale_out_seconds": "before instances are added"}


class EndpointScalingLike(Protocol):
    """By what an endpoint grows and shrinks (`EndpointScaling`)."""

    @property
    def maximum(self) -> int:
        """Instances at most."""
        ...

    @property
    def minimum(self) -> int | None:
        """Instances at least."""
        ...

    @property
    def concurrent_requests(self) -> float | None:
        """Requests at a time that an instance shall have."""
        ...

    @property
    def invocations_per_minute(self) -> float | None:
        """Requests in a minute that an instance shall have."""
        ...

    @property
    def scale_in_seconds(self) -> int | None:
        """Wait after instances were taken."""
        ...

    @property
    def scale_out_seconds(self) -> int | None:
        """Wait after instances were added."""
        ...


def check_endpoint_scaling(scaling: EndpointScalingLike) -> list[Problem]:
    """Return what is wrong with `scaling` by itself, by the attributes of `EndpointScalingLike`."""
    counts = _check_counts(scaling)
    return [*(counts or _check_order(scaling)), *_check_targets(scaling), *_check_cooldowns(scaling)]


def check_scaled_count(scaling: EndpointScalingLike, instance_count: int) -> list[Problem]:
    """Return a problem when an endpoint would begin with more instances than there may be."""
    if _is_above(instance_count, scaling.maximum):
        return [
            Problem(
                code=SageMakerCode.ENDPOINT_SCALING,
                path=("maximum",),
                value=scaling.maximum,
                message=f"the endpoint begins with {instance_count} instances, and may have {scaling.maximum} at most",
                allowed=f"{instance_count} or more",
                remedy="raise the maximum, or begin with fewer instances",
            )
        ]
    return []


def initial_count(scaling: EndpointScalingLike | None, instance_count: int) -> int:
    """Return with how many instances an endpoint begins; what is not known yet is what the instance count says."""
    least = scaling.minimum if scaling else None
    if least is None or is_unresolved(least) or is_unresolved(instance_count):
        return instance_count
    return max(least, instance_count)


def least_count(scaling: EndpointScalingLike, instance_count: int) -> int:
    """Return how many instances there are at least."""
    return instance_count if scaling.minimum is None else scaling.minimum


def _check_counts(scaling: EndpointScalingLike) -> list[Problem]:
    limit = endpoint_scaling_facts().instances
    zero = (
        "write 1 or more: SageMaker scales to 0 only the inference components of an endpoint, which this one has not; "
        "a time to live ends the cost"
    )
    return [
        problem
        for attribute, what in (
            ("maximum", "the greatest number of instances"),
            ("minimum", "the least number of instances"),
        )
        for problem in check_number(
            getattr(scaling, attribute), limit, SageMakerCode.ENDPOINT_SCALING, attribute, what=what, remedy=zero
        )
    ]


def _check_order(scaling: EndpointScalingLike) -> list[Problem]:
    if not _is_above(scaling.minimum, scaling.maximum):
        return []
    return [
        Problem(
            code=SageMakerCode.ENDPOINT_SCALING,
            path=("minimum",),
            value=scaling.minimum,
            message=f"the minimum is above the maximum, {scaling.maximum}",
            allowed=f"up to {scaling.maximum}",
            remedy="write a smaller minimum, or raise the maximum",
        )
    ]


def _is_above(left: int | None, right: int | None) -> bool:
    """Return whether both are known numbers and `left` is the greater."""
    if type(left) is not int or type(right) is not int or is_unresolved(left) or is_unresolved(right):
        return False
    return left > right


def _check_targets(scaling: EndpointScalingLike) -> list[Problem]:
    wrong = [
        problem
        for attribute, what in _TARGETS.items()
        for problem in check_positive(
            getattr(scaling, attribute),
            SageMakerCode.ENDPOINT_SCALING_TARGET,
            attribute,
            what=f"the target of {what}",
            remedy="write what one instance can take, or leave it out",
        )
    ]
    if wrong or scaling.concurrent_requests is None or scaling.invocations_per_minute is None:
        return wrong
    return [
        Problem(
            code=Code.CONTRADICTION,
            path=("invocations_per_minute",),
            value=scaling.invocations_per_minute,
            message="requests at a time and requests in a minute both have a target, and one of them is followed",
            remedy="keep `concurrent_requests`, which knows how long answers take, or `invocations_per_minute` alone",
        )
    ]


def _check_cooldowns(scaling: EndpointScalingLike) -> list[Problem]:
    limit = endpoint_scaling_facts().cooldown_seconds
    return [
        problem
        for attribute, what in _COOLDOWNS.items()
        for problem in check_number(
            getattr(scaling, attribute),
            limit,
            SageMakerCode.ENDPOINT_SCALING_TARGET,
            attribute,
            what=f"the wait {what}",
        )
    ]
