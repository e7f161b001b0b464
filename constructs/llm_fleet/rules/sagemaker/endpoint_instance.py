"""The instance type of an endpoint."""

import difflib
from collections.abc import Iterator

from llm_fleet.catalog.endpoint import (
    EndpointInstance,
    endpoint_instance,
    endpoint_instance_names,
    family_of,
    retired_endpoint_families,
)
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved

PROCESSORS = "cpu"
_PREFIX = "ml."


def known_instance(instance_type: str) -> EndpointInstance | None:
    """Return the facts of `instance_type`; `None` of one that is not there, or that is known only at deploy time."""
    return None if is_unresolved(instance_type) else endpoint_instance(instance_type)


def accelerator_of(instance: EndpointInstance) -> str | None:
    """Return what computes: `cpu`, `gpu` or `neuron`; `None` of a type that no source tells of."""
    if not instance.known:
        return None
    return instance.accelerator or PROCESSORS


def check_endpoint_instance(instance_type: str) -> Iterator[Problem]:
    """Return a problem unless endpoints can run on `instance_type`."""
    if is_unresolved(instance_type):
        yield Problem(
            code=SageMakerCode.INSTANCE_UNKNOWN,
            path=("instance_type",),
            message="the instance type is not known at synth, and image, driver and memory follow from it",
            remedy="write it, e.g. 'ml.g4dn.xlarge'; what differs by stage can be chosen by the app's context",
        )
        return
    if endpoint_instance(instance_type) is not None:
        return
    successor = retired_endpoint_families().get(family_of(instance_type))
    if successor is not None:
        yield Problem(
            code=SageMakerCode.INSTANCE_RETIRED,
            path=("instance_type",),
            message=f"instances of the family {family_of(instance_type)} are no longer offered to new users",
            value=instance_type,
            remedy=f"write an instance type of {successor}, e.g. {_first_of(successor)!r}",
        )
        return
    yield Problem(
        code=SageMakerCode.INSTANCE_UNKNOWN,
        path=("instance_type",),
        message="SageMaker has no such instance type for endpoints",
        value=instance_type,
        allowed=_near(instance_type),
        remedy=_remedy(instance_type),
    )


def _first_of(family: str) -> str:
    return next(name for name in endpoint_instance_names() if family_of(name) == family)


def _remedy(instance_type: str) -> str:
    if endpoint_instance(f"{_PREFIX}{instance_type}") is not None:
        return f"write {_PREFIX}{instance_type}: SageMaker's names begin with `{_PREFIX}`"
    return "write one of the types that SageMaker's page on pricing lists under real-time inference"


def _near(instance_type: str) -> str:
    wanted = f"{_PREFIX}{instance_type.removeprefix(_PREFIX)}"
    close = difflib.get_close_matches(wanted, endpoint_instance_names(), n=4, cutoff=0.7)
    return ", ".join(close) or "e.g. ml.g4dn.xlarge, ml.g5.xlarge, ml.inf2.xlarge, ml.m7i.xlarge"
