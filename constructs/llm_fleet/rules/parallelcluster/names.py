"""Names in a cluster of ParallelCluster: of itself and of its queues, compute resources and login pools."""

import re

from llm_fleet.catalog.parallelcluster import parallelcluster_limits
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.tokens import is_unresolved


def check_part_name(name: str, *, what: str) -> list[Problem]:
    """Check the name of a queue, compute resource or login pool: it becomes part of host names (NameValidator)."""
    if is_unresolved(name):
        return []
    limits = parallelcluster_limits()
    limit = limits.part_name
    faults: list[str] = []
    if not limit.matches(name):
        faults.append("is not of lower-case letters, digits and hyphens with a letter first")
    if not limit.holds(len(name)):
        faults.append(f"is {len(name)} characters long, {len(name) - (limit.maximum or 0)} too many")
    if name in limits.reserved_names:
        faults.append("is taken: Slurm reads it as the default of all others")
    if not faults:
        return []
    mended = mend_part_name(name)
    return [
        Problem(
            code=Code.PC_NAME,
            message=f"the {what} name {' and '.join(faults)}",
            remedy=f"write {mended!r}" if mended else f"give the {what} a name that begins with a letter",
            path=("name",),
            value=name,
            allowed=f"up to {limit.maximum} lower-case letters, digits and hyphens, a letter first; "
            f"not {', '.join(map(repr, limits.reserved_names))}",
        )
    ]


def mend_part_name(name: str) -> str:
    """Return the legal name most like `name`; empty when nothing of it can stay."""
    limits = parallelcluster_limits()
    mended = re.sub(r"[^a-z0-9-]+", "-", name.lower()).lstrip("0123456789-")[: limits.part_name.maximum].rstrip("-")
    return f"{mended}-queue" if mended in limits.reserved_names else mended
