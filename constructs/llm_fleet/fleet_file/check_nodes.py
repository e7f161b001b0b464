"""Checks of node settings of a fleet's clusters: users, training environments, and the files of both and of scripts."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.data_file import load
from llm_fleet.fleet_file.check_clusters import (
    check_deployed,
    check_node_setup_files,
    placed_cluster,
    placed_parallelcluster,
)
from llm_fleet.fleet_file.clusters import AnyCluster, HyperPodConfig, NodeSetupModel, ParallelClusterConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.named_files.named_file import certificate_text, files_of, pinned_names
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_legacy
from llm_fleet.rules.hyperpod.instance_group import check_lifecycle_hooks
from llm_fleet.rules.node_users import Known, check_homes, check_one_id_each, check_users
from llm_fleet.rules.parallelcluster.nodes import node_groups, shared_folder
from llm_fleet.rules.people import (
    check_hyperpod_enforces,
    check_parallelcluster_enforces,
    check_people,
    directory_twice,
)
from llm_fleet.rules.problem import PathPart, Problem, is_unresolved
from llm_fleet.rules.slurm_database import keeps_records
from llm_fleet.rules.terms import InternetAccess
from llm_fleet.rules.training.environment import check_training
from llm_fleet.rules.training.environment_place import SharedFolder, TrainingPlace
from llm_fleet.spec.cluster import LifecycleScripts
from llm_fleet.spec.training_runtime import TrainingRuntime


def check_people_config(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the users of `fleet`, by attribute names, except those of a single cluster."""
    everybody = tuple(fleet.users.values())
    of_fleet = [Known(where="the fleet", path=("users", user.name), user=user) for user in everybody]
    own = {name: _known_of(name, cluster) for name, cluster in fleet.clusters.items()}
    shares_files = fleet.storage.fsx is not None or fleet.storage.home is not None
    for problem in [*check_users(everybody), *_homes(fleet)]:
        yield _of_fleet(problem.under("users"), list(fleet.users))
    for known in own.values():
        yield from check_one_id_each([*of_fleet, *known], shares_files=True)
    all_known = [*of_fleet, *(one for known in own.values() for one in known)]
    yield from check_one_id_each(all_known, shares_files=shares_files)
    for name, cluster in fleet.clusters.items():
        yield from (_person_in_file(problem, fleet, name) for problem in _check_people_of(fleet, cluster))


def _known_of(name: str, cluster: AnyCluster) -> list[Known]:
    return [
        Known(where=f"cluster {name}", path=("clusters", name, "users", user.name), user=user) for user in cluster.users
    ]


def _homes(fleet: Fleet) -> list[Problem]:
    """Check the home directories of the fleet's users against the mounts of all clusters."""
    mounts = [part.mount_path for part in (fleet.storage.fsx, fleet.storage.home) if part is not None]
    shared = bool(fleet.parallelclusters) and not fleet.hyperpod_clusters
    return check_homes(tuple(fleet.users.values()), shared_paths=mounts, home_is_shared=shared)


def _check_people_of(fleet: Fleet, cluster: AnyCluster) -> Iterator[Problem]:
    accounting = not isinstance(cluster, ParallelClusterConfig) or keeps_records(cluster.accounting)
    yield from check_people(
        users=tuple(cluster.people.values()),
        slurm_accounts=cluster.slurm_accounts,
        directory=cluster.requested_directory,
        certificate_text=cluster.requested_directory and certificate_text(cluster.requested_directory),
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
    if cluster.requested_directory is not None and "DirectoryService" in list(cluster.overrides):
        yield directory_twice("directory")


def _person_in_file(problem: Problem, fleet: Fleet, name: str) -> Problem:
    """Return a problem of a cluster with its path in the file, since users and directory may belong to the fleet."""
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
    """Return the path with the name instead of the index."""
    return (first, names[int(rest[0])], *rest[1:]) if rest else (first,)


def check_training_config(fleet: Fleet) -> Iterator[Problem]:
    """Return the errors in the training runtimes of `fleet` that do not depend on its lock files, by attribute
    names."""
    for name, cluster in fleet.clusters.items():
        if cluster.training is not None:
            found = _check_runtime(cluster.training, training_place_of(fleet, cluster))
            yield from (problem.under("clusters", name, "training") for problem in found)


def check_training_files(fleet: Fleet, cluster: HyperPodConfig | ParallelClusterConfig) -> Iterator[Problem]:
    """Return the other errors in the runtime of `cluster`, after its lock file is read, below the cluster."""
    if cluster.training is None:
        return
    place = training_place_of(fleet, cluster)
    reported = _check_runtime(cluster.training, place)
    found = _check_runtime(cluster.training, with_lock(place, cluster))
    yield from (problem.under("training") for problem in found if problem not in reported)


def _check_runtime(runtime: TrainingRuntime, place: TrainingPlace) -> list[Problem]:
    return [_environment_in_file(problem, runtime) for problem in check_training(runtime, place)]


def _environment_in_file(problem: Problem, runtime: TrainingRuntime) -> Problem:
    """Return a problem with its path in the file, where environments are under their names."""
    match problem.path:
        case ("environments", int(index), *rest):
            return replace(problem, path=("environments", str(runtime.environments[index].name), *rest))
        case _:
            return problem


def training_place_of(fleet: Fleet, cluster: HyperPodConfig | ParallelClusterConfig) -> TrainingPlace:
    """Return the properties of `cluster` of `fleet` that training depends on, without reading its lock file."""
    os = None
    if isinstance(cluster, HyperPodConfig):
        placed = placed_cluster(fleet, cluster)
        groups = placed.node_groups
        shared = [SharedFolder(kind=each.kind, path=each.mount_path, groups=each.groups) for each in placed.node_mounts]
    else:
        shape = placed_parallelcluster(fleet, cluster)
        groups, os = node_groups(shape), shape.os
        shared = [shared_folder(each) for each in shape.shared_storage]
    return TrainingPlace.of(
        cluster,
        groups,
        shared,
        files=() if cluster.downloads is None else None,
        region=fleet.region,
        os=os,
        internet=fleet.way_out is not InternetAccess.NONE,
    )


def with_lock(place: TrainingPlace, cluster: NodeSetupModel) -> TrainingPlace:
    """Return `place` with the content of the lock file of `cluster`; errors in the file are reported elsewhere."""
    return replace(place, files=files_of(cluster.downloads))


def check_script_files(fleet: Fleet) -> list[Problem]:
    """Return the errors in the scripts of `fleet`, whose folders are relative to its file, by attribute names."""
    problems: list[Problem] = []
    for name, cluster in fleet.hyperpod_clusters.items():
        found = [*_missing(cluster), *check_node_setup_files(cluster, cluster.scripts)]
        found += check_training_files(fleet, cluster)
        if cluster.scripts.legacy and not is_unresolved(cluster.scripts.legacy):
            found += check_legacy(placed_cluster(fleet, cluster))
        problems += [problem.under("clusters", name) for problem in found]
    for name, cluster in fleet.parallelclusters.items():
        found = [*check_node_setup_files(cluster, cluster.scripts), *check_deployed(cluster)]
        found += check_training_files(fleet, cluster)
        problems += [problem.under("clusters", name) for problem in found]
    return list({problem.path: problem for problem in reversed(problems)}.values())


def _missing(cluster: HyperPodConfig) -> Iterator[Problem]:
    scripts = cluster.scripts
    if scripts.prefix is not None:
        return
    folder = scripts.scripts_path
    if folder is not None and not folder.is_dir():
        remedy = "write the path of a folder, relative to the fleet file"
        problem = scripts.wrong("scripts", Code.BUNDLE_ENTRY_MISSING, "this folder does not exist", remedy)
        yield problem.under("scripts")
        return
    for group in cluster.running_groups:
        if check_lifecycle_hooks(group):
            continue  # Reported already.
        for attribute in ("on_create", "on_init_complete"):
            script = getattr(group, attribute)
            if script is not None and not _is_there(script, scripts):
                yield replace(_no_script(script, scripts), path=_where(attribute, group.name, cluster))


def _is_there(script: str, scripts: LifecycleScripts) -> bool:
    folder = scripts.scripts_path
    return script in load("lifecycle")["entry_points"].values() if folder is None else (folder / script).is_file()


def _where(attribute: str, name: str, cluster: HyperPodConfig) -> tuple[PathPart, ...]:
    """Path of the script's name in the file, or of the folder where it is missing."""
    if cluster.by_name[name].script is not None:
        return ("groups", name, attribute)
    return ("scripts", "scripts" if cluster.scripts.entry_point is None else "entry_point")


def _no_script(script: str, scripts: LifecycleScripts) -> Problem:
    shipped = ", ".join(load("lifecycle")["entry_points"].values())
    folder = scripts.scripts
    return Problem(
        code=Code.BUNDLE_ENTRY_MISSING,
        message=f"the script {script!r} is not in the uploaded folder",
        remedy=f"put it into {folder}"
        if folder is not None
        else f"write one of llm-fleet's scripts, {shipped}, or set the folder of your own with `scripts`",
        value=script,
    )
