"""The people of a fleet file, judged by the rules that judge the constructs: one id for one person, everywhere."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.clusters import AnyCluster
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.parallelcluster import ParallelClusterConfig
from llm_fleet.named_files.named_file import certificate_text, pinned_names
from llm_fleet.rules.node_users import Known, check_homes, check_one_id_each, check_users
from llm_fleet.rules.people import (
    check_hyperpod_enforces,
    check_parallelcluster_enforces,
    check_people,
    directory_twice,
)
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.slurm_database import keeps_records


def check_people_config(fleet: Fleet) -> Iterator[Problem]:
    """Return what is wrong with the people of `fleet`, by attribute names; users of one cluster alone apart."""
    everybody = tuple(fleet.users.values())
    of_fleet = [Known(where="the fleet", path=("users", user.name), user=user) for user in everybody]
    own = {name: _own(name, cluster) for name, cluster in fleet.clusters.items()}
    shares_files = fleet.storage.fsx is not None or fleet.storage.home is not None
    for problem in [*check_users(everybody), *_homes(fleet)]:
        yield _of_fleet(problem.under("users"), list(fleet.users))
    for known in own.values():
        yield from check_one_id_each([*of_fleet, *known], shares_files=True)
    all_known = [*of_fleet, *(one for known in own.values() for one in known)]
    yield from check_one_id_each(all_known, shares_files=shares_files)
    for name, cluster in fleet.clusters.items():
        yield from (_in_file(problem, fleet, name) for problem in _of_cluster(fleet, cluster))


def _own(name: str, cluster: AnyCluster) -> list[Known]:
    return [
        Known(where=f"cluster {name}", path=("clusters", name, "users", user.name), user=user) for user in cluster.users
    ]


def _homes(fleet: Fleet) -> list[Problem]:
    """Judge homes of the fleet's users by what all clusters mount."""
    mounts = [part.mount_path for part in (fleet.storage.fsx, fleet.storage.home) if part is not None]
    shared = bool(fleet.parallelclusters) and not fleet.hyperpod_clusters
    return check_homes(tuple(fleet.users.values()), shared_paths=mounts, home_is_shared=shared)


def _of_cluster(fleet: Fleet, cluster: AnyCluster) -> Iterator[Problem]:
    accounting = not isinstance(cluster, ParallelClusterConfig) or keeps_records(cluster.accounting)
    yield from check_people(
        users=tuple(cluster.people.values()),
        slurm_accounts=cluster.slurm_accounts,
        directory=cluster.asked_directory,
        certificate_text=cluster.asked_directory and certificate_text(cluster.asked_directory),
        has_accounting=accounting,
        on_parallelcluster=isinstance(cluster, ParallelClusterConfig),
        pinned=pinned_names(cluster.downloads),
    )
    if isinstance(cluster, HyperPodConfig):
        if cluster.slurm_accounts:
            yield from check_hyperpod_enforces(cluster.controller_hook, cluster.effective_strategy)
        return
    if cluster.slurm_accounts:
        yield from check_parallelcluster_enforces(cluster.slurm.custom_settings, cluster.slurm.custom_settings_file)
    if cluster.asked_directory is not None and "DirectoryService" in cluster.overrides:
        yield directory_twice("directory")


def _in_file(problem: Problem, fleet: Fleet, name: str) -> Problem:
    """Return a problem of a cluster where the file has it: users and directory may be the fleet's."""
    cluster = fleet.clusters[name]
    first, *rest = problem.path
    if first == "users":
        user = list(cluster.people)[int(rest[0])]
        if user not in [own.name for own in cluster.users]:
            return _of_fleet(problem, list(cluster.people))
        return replace(problem, path=("clusters", name, *_named("users", list(cluster.people), rest)))
    if first == "slurm_accounts":
        return replace(
            problem,
            path=("clusters", name, *_named("slurm_accounts", [each.name for each in cluster.slurm_accounts], rest)),
        )
    return problem if first == "directory" and cluster.directory is None else problem.under("clusters", name)


def _of_fleet(problem: Problem, names: list[str]) -> Problem:
    return replace(problem, path=_named("users", names, list(problem.path[1:])))


def _named(first: str, names: list[str], rest: list[PathPart]) -> tuple[PathPart, ...]:
    """Return the path with its index as a name."""
    return (first, names[int(rest[0])], *rest[1:]) if rest else (first,)
