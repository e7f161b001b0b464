"""Whether the scripts and files that a fleet file names are there to be uploaded, and can be read by nodes."""

from collections.abc import Iterator
from dataclasses import replace

from llm_fleet.catalog.data_file import load
from llm_fleet.fleet_file.check_node_setup import check_node_setup_files
from llm_fleet.fleet_file.check_parallelcluster import check_deployed
from llm_fleet.fleet_file.check_training import check_training_files
from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.fleet_file.placed_cluster import placed_cluster
from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod.hyperpod_cluster import check_legacy
from llm_fleet.rules.hyperpod.instance_group import check_lifecycle_hooks
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.spec.node_setup import LifecycleScripts


def check_script_files(fleet: Fleet) -> list[Problem]:
    """Return what is wrong with the scripts of `fleet`, whose folders begin where its file lies, by attribute names."""
    problems: list[Problem] = []
    for name, cluster in fleet.hyperpod_clusters.items():
        found = [*_missing(cluster), *check_node_setup_files(cluster, cluster.scripts)]
        found += check_training_files(fleet, cluster)
        if cluster.scripts.legacy:
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
        remedy = "give the path of a folder, beginning where the fleet file lies"
        problem = scripts.wrong("scripts", Code.BUNDLE_ENTRY_MISSING, "there is no such folder", remedy)
        yield problem.under("scripts")
        return
    for group in cluster.running_groups:
        if check_lifecycle_hooks(group):
            continue  # Told already.
        for attribute in ("on_create", "on_init_complete"):
            script = getattr(group, attribute)
            if script is not None and not _is_there(script, scripts):
                yield replace(_no_script(script, scripts), path=_where(attribute, group.name, cluster))


def _is_there(script: str, scripts: LifecycleScripts) -> bool:
    folder = scripts.scripts_path
    return script in load("lifecycle")["entry_points"].values() if folder is None else (folder / script).is_file()


def _where(attribute: str, name: str, cluster: HyperPodConfig) -> tuple[PathPart, ...]:
    """Where the user wrote what the script is called, or what it is missing in."""
    if cluster.by_name[name].script is not None:
        return ("groups", name, attribute)
    return ("scripts", "scripts" if cluster.scripts.entry_point is None else "entry_point")


def _no_script(script: str, scripts: LifecycleScripts) -> Problem:
    shipped = ", ".join(load("lifecycle")["entry_points"].values())
    folder = scripts.scripts
    return Problem(
        code=Code.BUNDLE_ENTRY_MISSING,
        message=f"the script {script!r} is not among those that are uploaded",
        remedy=f"put it into {folder}"
        if folder is not None
        else f"write one of those that llm-fleet ships, {shipped}, or say with `scripts` where yours lie",
        value=script,
    )
