"""All rules over a whole fleet file."""

from collections.abc import Iterator
from pkgutil import resolve_name

from llm_fleet.fleet_file.check_cluster_config import check_cluster_config
from llm_fleet.fleet_file.check_names import check_fleet_name
from llm_fleet.fleet_file.check_network import check_network_config, check_places, check_zones_exist
from llm_fleet.fleet_file.check_parallelcluster import check_parallelclusters
from llm_fleet.fleet_file.check_people import check_people_config
from llm_fleet.fleet_file.check_stack_names import check_stack_names
from llm_fleet.fleet_file.check_storage import check_storage
from llm_fleet.fleet_file.check_training import check_training_config
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_tags
from llm_fleet.rules.problem import Problem
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
    ("check_training_jobs:check_training_jobs", "training_jobs"),
    ("check_training_jobs:check_watch", "training_jobs", "watch"),
    ("check_monitoring:check_monitoring", "monitoring"),
)
"""Rules of this package, and the attributes of a fleet that they judge. They are imported with the first of these that
a fleet has: a fleet of one cluster has none, and importing all took a tenth of its synth's time in Python."""


def check_fleet(fleet: Fleet) -> list[Problem]:
    """Return everything that the services would refuse of `fleet`, by attribute names.

    These are the rules of the constructs, with the places of the fleet file: the two cannot disagree.
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
    if fleet.services and not any(map(_is_of_network, problems)):
        from llm_fleet.fleet_file.check_service import check_front_places

        found += check_front_places(fleet)
    if not any(map(_misleads, problems)):
        found += check_places(fleet)
    if fleet.jobs:
        from llm_fleet.fleet_file.jobs.check_jobs import check_jobs

        found += check_jobs(fleet)
    return _each_once([*problems, *found])


def _check_parts(fleet: Fleet) -> Iterator[Problem]:
    for place, *attributes in _OF_PARTS:
        if any(getattr(fleet, attribute) for attribute in attributes):
            yield from resolve_name(f"llm_fleet.fleet_file.{place}")(fleet)


def _misleads(problem: Problem) -> bool:
    """Return whether, with this wrong, what all addresses add up to would mean nothing."""
    return _is_of_network(problem) or problem.path[-1] in _COUNTED


def _is_of_network(problem: Problem) -> bool:
    return problem.path[:1] == ("network",)


def _each_once(problems: list[Problem]) -> list[Problem]:
    """Return each mistake once, though two rules or two clusters may have met it."""
    seen: dict[tuple[str, tuple[object, ...]], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.code.value, problem.path), problem)
    return list(seen.values())
