"""The rule of an instance type of HyperPod, and proposals for misspelled ones."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from llm_fleet.catalog.hyperpod import facts_of, hyperpod_facts, instances
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem, is_unresolved, rule
from llm_fleet.rules.values import nearest

PREFIX = "ml."


@rule
def check_instance_type(name: str) -> Iterator[Problem]:
    """Check that HyperPod offers `name`. A type made by `InstanceType.of` passes: it may be newer than the catalog."""
    if is_unresolved(name) or facts_of(name) is not None:
        return
    bare = name.strip().removeprefix(PREFIX)
    if bare.split(".")[0].casefold() in hyperpod_facts().inferentia_families:
        neuron = ", ".join(each.name for each in instances().values() if each.accelerator == "neuron")
        yield Problem(
            code=Code.INSTANCE_TYPE_INFERENTIA,
            message="HyperPod does not support Inferentia instances, which are for inference only",
            remedy="use inf1 and inf2 in an inference service on ECS, outside this cluster; "
            "to train on Neuron, write `ml.trn1.32xlarge`",
            value=name,
            allowed=f"for Neuron: {neuron}",
        )
    elif PREFIX + bare in instances() and name.strip() == bare:
        yield Problem(
            code=Code.INSTANCE_TYPE_PREFIX,
            message="this is the instance type's name in EC2; names in SageMaker begin with 'ml.'",
            remedy=f"write `{PREFIX + name.strip()}`",
            value=name,
        )
    else:
        yield _unknown(name)


def nearest_type(name: str) -> str | None:
    """Return the type that is nearest to `name`, by family first, then by size."""
    family, dot, size = name.strip().casefold().removeprefix(PREFIX).partition(".")
    if not dot:
        return nearest(name, instances())
    near = nearest_size(family, size, {instance.family for instance in instances().values()}, sizes_of)
    return f"{PREFIX}{near}" if near else None


def nearest_size(
    family: str, size: str, families: Collection[str], sizes: Callable[[str], Sequence[str]]
) -> str | None:
    """Return the type nearest to `<family>.<size>` in `families`; `None` when no family is similar.

    The size of a different family would mislead. `sizes` returns the sizes of a family.
    """
    near_family = family if family in families else nearest(family, families)
    near = None if near_family is None else nearest(re.sub(r"xl$", "xlarge", size), sizes(near_family))
    return f"{near_family}.{near}" if near else None


def sizes_of(family: str) -> list[str]:
    """Return the sizes that HyperPod offers of `family`, smallest first; empty for an unknown one."""
    known = [instance for instance in instances().values() if instance.family == family]
    return [instance.name.rsplit(".", 1)[1] for instance in sorted(known, key=lambda one: one.vcpus or 0)]


def _unknown(name: str) -> Problem:
    family = name.strip().casefold().removeprefix(PREFIX).partition(".")[0]
    sizes = ", ".join(f"{PREFIX}{family}.{size}" for size in sizes_of(family))
    offer = nearest_type(name)
    miswritten = offer == name.strip().casefold()
    newer = "in Python, `InstanceType.of(…)` accepts a type that is newer than this release of llm-fleet"
    return Problem(
        code=Code.INSTANCE_TYPE_UNKNOWN,
        message="instance types must be written in lower case, without spaces"
        if miswritten
        else "HyperPod does not offer this instance type",
        remedy=f"write `{offer}`"
        if miswritten
        else f"write `{offer}`; {newer}"
        if offer
        else f"write one of the allowed types; {newer}",
        value=name,
        allowed=sizes or "families " + ", ".join(sorted({instance.family for instance in instances().values()})),
    )
