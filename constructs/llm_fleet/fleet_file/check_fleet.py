"""All rules of a fleet file, and the rules of the fleet's name and its stack names."""

import re
from collections.abc import Iterator
from pkgutil import resolve_name

from llm_fleet.fleet_file.check_clusters import check_cluster_config, check_parallelclusters
from llm_fleet.fleet_file.check_network import check_network_config, check_places, check_zones_exist
from llm_fleet.fleet_file.check_nodes import check_people_config, check_training_config
from llm_fleet.fleet_file.check_storage import check_storage
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_tags
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved
from llm_fleet.rules.regions import check_region

_COUNTED = (
    *("instance_type", "instance_types", "count", "max_count", "availability_zone_id"),
    *("desired", "minimum", "maximum"),
)

_OF_PARTS = (
    ("check_service:check_services", "services"),
    ("check_sagemaker:check_notebooks", "notebooks"),
    ("check_sagemaker:check_studio", "studio"),
    ("check_sagemaker:check_endpoints", "endpoints"),
    ("check_sagemaker:check_training_jobs", "training_jobs"),
    ("check_monitoring:check_watch", "training_jobs", "watch"),
    ("check_monitoring:check_monitoring", "monitoring"),
)
"""Rules of this package, and the attributes of a fleet that they check. They are imported only if the fleet has such
an attribute: importing all took a tenth of the synthesis time of a fleet of one cluster in Python."""


def check_fleet(fleet: Fleet) -> list[Problem]:
    """Return all errors that the services would report for `fleet`, by attribute names.

    These are the rules of the constructs, with the paths of the fleet file, so both report the same.
    """
    problems = [
        *check_fleet_name(fleet.name),
        *check_region(fleet.region),
        *check_network_config(fleet),
        *check_storage(fleet),
        *check_people_config(fleet),
        *check_cluster_config(fleet),
        *check_parallelclusters(fleet),
        *check_training_config(fleet),
        *_check_parts(fleet),
        *check_stack_names(fleet),
        *check_tags(fleet.tags),
        *check_zones_exist(fleet),
    ]
    found: list[Problem] = []
    network = fleet.network
    unknown = network is not None and (is_unresolved(network) or any(map(is_unresolved, vars(network).values())))
    if fleet.services and not unknown and not any(map(_is_of_network, problems)):
        from llm_fleet.fleet_file.check_service import check_front_places

        found += check_front_places(fleet)
    if not unknown and not any(map(_misleads, problems)):
        found += check_places(fleet)
    if fleet.jobs:
        from llm_fleet.fleet_file.check_jobs import check_jobs

        found += check_jobs(fleet)
    return _each_once([*problems, *found])


def _check_parts(fleet: Fleet) -> Iterator[Problem]:
    for place, *attributes in _OF_PARTS:
        if any(getattr(fleet, attribute) for attribute in attributes):
            yield from resolve_name(f"llm_fleet.fleet_file.{place}")(fleet)


def _misleads(problem: Problem) -> bool:
    """Return whether this error makes the sum of all addresses meaningless."""
    return _is_of_network(problem) or problem.path[-1] in _COUNTED


def _is_of_network(problem: Problem) -> bool:
    return problem.path[:1] == ("network",)


def _each_once(problems: list[Problem]) -> list[Problem]:
    """Return each error once, even if two rules or two clusters have reported it."""
    seen: dict[tuple[str, tuple[object, ...]], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.code.value, problem.path), problem)
    return list(seen.values())


_LONGEST = 40
"""So that names of stacks and buckets, which begin with it, have at most 63 characters."""
_FORM = re.compile(r"[a-z](-?[a-z0-9])*")


def check_fleet_name(name: str) -> list[Problem]:
    """Return a problem unless `name` can begin the names of stacks and buckets."""
    if len(name) <= _LONGEST and _FORM.fullmatch(name):
        return []
    repaired = fleet_name_of(name)
    return [
        Problem(
            code=Code.FLEET_NAME,
            message="the fleet's name is the prefix of stack and bucket names, and this value is not valid there",
            remedy=f"write `{repaired}`" if repaired else "write a name in lower-case letters",
            path=("name",),
            value=name,
            allowed=f"at most {_LONGEST} lower-case letters, digits and single hyphens, beginning with a letter",
        )
    ]


def fleet_name_of(text: str) -> str:
    """Return the valid fleet name most similar to `text`; empty if no part of it is valid."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-").lstrip("-0123456789")[:_LONGEST].rstrip("-")


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
"""Suffix of the name of the stack that exports a service's model."""


def check_stack_names(fleet: Fleet) -> Iterator[Problem]:
    """Return each name that two stacks of `fleet` would share."""
    taken = dict(_OF_FLEET)
    for path, name, owner in _stacks(fleet):
        if name in taken:
            yield Problem(
                code=Code.STACK_NAME,
                message=f"the stack name {fleet.name}-{name} is already used by {taken[name]}",
                remedy="choose another name",
                path=path,
                value=path[1],
            )
        taken.setdefault(name, owner)


def _stacks(fleet: Fleet) -> Iterator[tuple[tuple[PathPart, ...], str, str]]:
    """Return the stacks that the user names: path, stack name without the fleet's name, and noun for messages."""
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
