"""Instance types in a HyperPod group."""

from collections import Counter

from llm_fleet.catalog.hyperpod import group_limit
from llm_fleet.catalog.instances import facts_of
from llm_fleet.rules.codes import Code
from llm_fleet.rules.instance_type import check_instance_type
from llm_fleet.rules.number import check_number
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved
from llm_fleet.spec.instance_group import InstanceGroup


def check_instance_types(group: InstanceGroup) -> list[Problem]:
    """Check that the group has one type, or 1 to 20 flexible ones, and that each exists."""
    if (group.instance_type is None) == (not group.instance_types):
        return [_choice(group)]
    if group.instance_type is not None:
        return [problem.under("instance_type") for problem in check_instance_type(group.instance_type)]
    if is_unresolved(group.instance_types):
        return []
    return [
        *(
            problem.under("instance_types", index)
            for index, name in enumerate(group.instance_types)
            for problem in check_instance_type(name)
        ),
        *_check_number_of_types(group),
        *_check_repeated_types(group),
        *_check_mixed_types(group),
    ]


def check_threads_per_core(group: InstanceGroup) -> list[Problem]:
    """Check that nobody asks for two threads a core of a processor that has one.

    The API takes 1 for every type, and 2 only "for instance types that support multithreading" (API reference).
    """
    threads = group.threads_per_core
    problems = check_number(
        threads, group_limit("ThreadsPerCore"), Code.THREADS_PER_CORE, "threads_per_core", what="threads per core"
    )
    if problems or threads is None or is_unresolved(threads):
        return problems
    single = [
        name
        for name in group.types
        if not is_unresolved(name) and (facts := facts_of(name)) and (facts.threads_per_core or threads) < threads
    ]
    return [
        Problem(
            code=Code.THREADS_PER_CORE,
            message=f"{name} has one thread a core and cannot run {threads}",
            remedy="leave the threads per core out, or write 1",
            path=("threads_per_core",),
            value=threads,
        )
        for name in single
    ]


def _choice(group: InstanceGroup) -> Problem:
    both = bool(group.instance_types)
    return Problem(
        code=Code.INSTANCE_TYPE_CHOICE,
        message="the group has one instance type and flexible ones" if both else "the group has no instance type",
        remedy=(
            "keep the one type, or the list of flexible types by priority, and drop the other"
            if both
            else "write its instance type, e.g. 'ml.trn1.32xlarge'"
        ),
        path=("instance_types",) if both else ("instance_type",),
        value=[group.instance_type, *group.instance_types] if both else None,
    )


def _check_number_of_types(group: InstanceGroup) -> list[Problem]:
    limit = group_limit("InstanceRequirements.InstanceTypes")
    return check_number(
        len(group.instance_types),
        limit,
        Code.INSTANCE_TYPES_NUMBER,
        "instance_types",
        what="the number of flexible instance types",
        remedy=f"keep the {limit.maximum} that you want most: HyperPod tries them in order",
    )


def _check_repeated_types(group: InstanceGroup) -> list[Problem]:
    return [
        Problem(
            code=Code.INSTANCE_TYPES_TWICE,
            message=f"{name} stands {count} times among the flexible instance types",
            remedy="name it once, where its priority is",
            path=("instance_types",),
            value=name,
        )
        for name, count in Counter(group.instance_types).items()
        if count > 1
    ]


def _check_mixed_types(group: InstanceGroup) -> list[Problem]:
    """One image serves the whole group, so its types share an architecture; and a job finds one kind of accelerator.

    The first follows from `ImageId` being the group's; the second is our own rule.
    """
    known = {name: facts for name in group.instance_types if (facts := facts_of(name))}
    kinds = {
        "architecture": {name: facts.architecture for name, facts in known.items()},
        "accelerator": {name: facts.accelerator or "none" for name, facts in known.items()},
    }
    return [
        Problem(
            code=Code.INSTANCE_TYPES_MIXED,
            message=f"the flexible instance types differ in {kind}: "
            + ", ".join(f"{name} has {value}" for name, value in by_name.items()),
            remedy="make a group for each: all groups may share one partition",
            path=("instance_types",),
            value=list(group.instance_types),
            allowed=f"one {kind} in a group",
        )
        for kind, by_name in kinds.items()
        if len(set(by_name.values())) > 1
    ]
