"""Instance types of Studio's applications."""

from collections.abc import Sequence

from llm_fleet.catalog.studio import studio_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import nearest
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.sagemaker.codes import SageMakerCode
from llm_fleet.rules.tokens import is_unresolved

_PREFIX = "ml."


def check_studio_instances(default: str, allowed: Sequence[str]) -> list[Problem]:
    """Return what is wrong with the `default` type, and with those `allowed` (empty: all)."""
    problems = [
        *(problem.under("instance_type") for problem in _check_type(default)),
        *(
            problem.under("allowed_instance_types", index)
            for index, name in enumerate(allowed)
            for problem in _check_type(name)
        ),
    ]
    if not problems and allowed and not is_unresolved([default, *allowed]) and default not in allowed:
        problems.append(
            Problem(
                code=Code.CONTRADICTION,
                message="the type that applications run on unless somebody chooses is not among those allowed",
                remedy=f"allow {default}, or write one of the allowed",
                path=("instance_type",),
                value=default,
                allowed=", ".join(allowed),
            )
        )
    return problems


def _check_type(name: str) -> list[Problem]:
    facts = studio_facts()
    if is_unresolved(name):
        return []
    family = name.removeprefix(_PREFIX).partition(".")[0]
    if family in facts.retired_families:
        return [
            Problem(
                code=SageMakerCode.INSTANCE_RETIRED,
                message=f"{family} is hardware that new users do not get any more",
                remedy=f"write {facts.retired_families[family]!r}",
                value=name,
            )
        ]
    if name in facts.instances:
        return []
    offer = _PREFIX + name if _PREFIX + name in facts.instances else nearest(name, facts.instances)
    sizes = [each for each in facts.instances if each.startswith(f"{_PREFIX}{family}.")]
    return [
        Problem(
            code=SageMakerCode.INSTANCE_UNKNOWN,
            message="Studio has no applications on such an instance",
            remedy=f"write {offer!r}" if offer else "write one of Studio's types",
            value=name,
            allowed=", ".join(sizes) or f"e.g. {facts.default_instance}, ml.g5.xlarge or ml.trn1.2xlarge",
        )
    ]
