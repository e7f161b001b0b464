"""One name of an instance type."""

import re

from llm_fleet.catalog.hyperpod import facts_of, hyperpod_facts, instances
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.rules.values import nearest

PREFIX = "ml."


def check_instance_type(name: str) -> list[Problem]:
    """Check that HyperPod offers `name`. A type made by `InstanceType.of` passes: its maker knows better."""
    if is_unresolved(name) or facts_of(name) is not None:
        return []
    bare = name.strip().removeprefix(PREFIX)
    if bare.split(".")[0].casefold() in hyperpod_facts().inferentia_families:
        return [_inferentia(name)]
    if PREFIX + bare in instances() and name.strip() == bare:
        return [_no_prefix(name)]
    return [_unknown(name)]


def nearest_type(name: str) -> str | None:
    """Return the type that `name` is most likely meant to be: its family first, then its size."""
    family, dot, size = name.strip().casefold().removeprefix(PREFIX).partition(".")
    families = {instance.family for instance in instances().values()}
    near_family = family if family in families else nearest(family, families)
    if not dot:
        return nearest(name, instances())
    if near_family is None:  # a like size of an unlike family would mislead
        return None
    size = re.sub(r"xl$", "xlarge", size)
    near_size = nearest(size, sizes_of(near_family))
    return f"{PREFIX}{near_family}.{near_size}" if near_size else None


def sizes_of(family: str) -> list[str]:
    """Return the sizes that HyperPod offers of `family`, smallest first; empty for an unknown one."""
    known = [instance for instance in instances().values() if instance.family == family]
    return [instance.name.rsplit(".", 1)[1] for instance in sorted(known, key=lambda one: one.vcpus or 0)]


def _no_prefix(name: str) -> Problem:
    return Problem(
        code=Code.INSTANCE_TYPE_PREFIX,
        message="this is EC2's name of the instance type; SageMaker's begins with 'ml.'",
        remedy=f"write {PREFIX + name.strip()!r}",
        value=name,
    )


def _inferentia(name: str) -> Problem:
    return Problem(
        code=Code.INSTANCE_TYPE_INFERENTIA,
        message="HyperPod has no Inferentia instances: they serve models, and do not train them",
        remedy="put inf1 and inf2 into an inference service on ECS, outside this cluster; "
        "to train on Neuron write 'ml.trn1.32xlarge'",
        value=name,
        allowed="for Neuron: " + ", ".join(each.name for each in instances().values() if each.accelerator == "neuron"),
    )


def _unknown(name: str) -> Problem:
    family = name.strip().casefold().removeprefix(PREFIX).partition(".")[0]
    sizes = ", ".join(f"{PREFIX}{family}.{size}" for size in sizes_of(family))
    offer = nearest_type(name)
    miswritten = offer == name.strip().casefold()
    newer = "InstanceType.of(…), in Python, for one newer than this release of llm-fleet"
    return Problem(
        code=Code.INSTANCE_TYPE_UNKNOWN,
        message="instance types are written in lower case, without spaces around them"
        if miswritten
        else "HyperPod offers no instance type of this name",
        remedy=f"write {offer!r}"
        if miswritten
        else f"write {offer!r}, or {newer}"
        if offer
        else f"write one of the allowed, or {newer}",
        value=name,
        allowed=sizes or "families " + ", ".join(sorted({instance.family for instance in instances().values()})),
    )
