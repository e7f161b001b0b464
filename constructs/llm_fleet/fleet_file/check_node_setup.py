"""What the nodes of a cluster of any kind are told, judged by the rules that judge the constructs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from llm_fleet.fleet_file.node_setup import NodeSetupModel
from llm_fleet.named_files.named_file import check_own_folder, files_of, lock_problems
from llm_fleet.rules.downloads_lock import check_mirror
from llm_fleet.rules.node_setup import check_node_setup
from llm_fleet.rules.own_steps import check_neuron_pinned
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.cluster import NodeGroup
from llm_fleet.spec.node_setup import NodeScripts


def check_nodes_in_file(
    config: NodeSetupModel,
    scripts: NodeScripts,
    *,
    groups: Sequence[NodeGroup],
    mount_paths: Sequence[str],
    home_is_shared: bool,
) -> Iterator[Problem]:
    """Return what is wrong with what nodes of `groups` are told, by attribute names below the cluster.

    The rest is of the cluster that they belong to, as in `check_node_setup`.
    """
    found = check_node_setup(config, scripts, groups=groups, mount_paths=mount_paths, home_is_shared=home_is_shared)
    yield from (_by_login_name(problem, config) for problem in found)
    if config.downloads is not None:
        yield from (problem.under("downloads") for problem in check_mirror(config.downloads))


def check_node_setup_files(config: NodeSetupModel, scripts: NodeScripts) -> Iterator[Problem]:
    """Return what is wrong with the files that tell nodes something: own scripts and the lock file."""
    own = check_own_folder(scripts, start="the fleet file lies")
    yield from (problem.under("scripts") for problem in own)
    unreadable = lock_problems(config.downloads.lock_path) if config.downloads is not None else []
    for problem in unreadable:
        # Lines within the lock file are none of the fleet file.
        inner = replace(problem, message=f"{problem.where}: {problem.message}" if problem.path else problem.message)
        yield replace(inner, path=("downloads", "lock"))
    if config.neuron is not None and config.neuron.install and not unreadable:
        files = files_of(config.downloads) if config.downloads is not None else None
        yield from (problem.under("neuron", "host") for problem in check_neuron_pinned(config.neuron.release, files))


def _by_login_name(problem: Problem, config: NodeSetupModel) -> Problem:
    """Return a problem where the file has it: users stand under their names."""
    match problem.path:
        case ("users", int(index), *rest):
            return replace(problem, path=("users", config.users[index].name, *rest))
        case _:
            return problem
