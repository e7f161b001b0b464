"""Whether each cluster, service and SageMaker piece of a fleet can have a stack of its own name."""

from collections.abc import Iterator

from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem

_OF_FLEET = {
    "network": "the fleet's network",
    "storage": "the fleet's storage",
    "database": "the fleet's database",
    "studio": "the fleet's Studio",
    "watch": "the fleet's watch",
    "monitoring": "the fleet's monitoring",
    "metrics": "the fleet's metrics",
}
EXPORT = "-export"
"""What the name of the stack that exports a service's model ends in."""


def check_stack_names(fleet: Fleet) -> Iterator[Problem]:
    """Return each name that two stacks of `fleet` would have."""
    taken = dict(_OF_FLEET)
    for path, name, owner in _stacks(fleet):
        if name in taken:
            yield Problem(
                code=Code.STACK_NAME,
                message=f"its stack would be {fleet.name}-{name}, which is that of {taken[name]}",
                remedy="give it another name",
                path=path,
                value=path[1],
            )
        taken.setdefault(name, owner)


def _stacks(fleet: Fleet) -> Iterator[tuple[tuple[PathPart, ...], str, str]]:
    """Return the stacks that the user names: where each was asked for, its name without the fleet's, and whose."""
    for name in fleet.clusters:
        yield ("clusters", name), name, f"the cluster {name}"
    for name in fleet.services:
        yield ("services", name), name, f"the service {name}"
    for name in fleet.notebooks:
        yield ("notebooks", name), name, f"the notebook {name}"
    for name in fleet.endpoints:
        yield ("endpoints", name), name, f"the endpoint {name}"
    for name in fleet.training_jobs:
        yield ("training_jobs", name), name, f"the training job {name}"
    for name, service in fleet.services.items():
        if service.export is not None:
            yield ("services", name, "export"), f"{name}{EXPORT}", f"the export of the service {name}"
