"""Everything that is wrong with a cluster: by the rules of ParallelCluster, and with what its nodes are told."""

from collections.abc import Iterator

from llm_fleet.lifecycle.node_setup import (
    NodeSetup,
    check_downloads,
    check_node_metrics,
    check_own_step_files,
    check_people_of,
    given_for_nodes,
)
from llm_fleet.parallelcluster.node_groups import node_groups
from llm_fleet.parallelcluster.node_scripts import NodeScripts
from llm_fleet.parallelcluster.people import tells_directory_twice
from llm_fleet.parallelcluster.training_checks import check_training_of
from llm_fleet.rules.accounting import keeps_records
from llm_fleet.rules.node_settings import NodeSettings, check_node_settings
from llm_fleet.rules.nodes_told import check_nodes_told
from llm_fleet.rules.parallelcluster.check import check_parallelcluster
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.people.directory import directory_twice
from llm_fleet.rules.people.enforcement import check_parallelcluster_enforces
from llm_fleet.rules.problem import Problem

_OF_SCRIPTS = ("skip_steps", "own_steps")


def cluster_problems(shape: ClusterShape, scripts: NodeScripts | None, setup: NodeSetup) -> list[Problem]:
    """Return everything that is wrong with `shape` and with what its nodes are told."""
    return [*check_parallelcluster(shape), *_node_problems(shape, scripts, setup)]


def _node_problems(shape: ClusterShape, given: NodeScripts | None, setup: NodeSetup) -> list[Problem]:
    scripts = given or NodeScripts()
    groups = node_groups(shape)
    settings = NodeSettings(
        users=setup.users,
        s3_mounts=setup.s3_mounts,
        neuron_release=setup.neuron.release if setup.neuron else None,
        skip_steps=scripts.skip_steps,
        own_steps=scripts.own_steps,
        group_names=[group.name for group in groups],
        instance_types=[name for group in groups for name in group.instance_types],
        mount_paths=[storage.mount_dir for storage in shape.shared_storage],
        nodes=[(group.name, group.role, group.hook.value) for group in groups if group.hook],
    )
    found = [
        *check_node_settings(settings),
        *(problem.under("own_steps") for problem in check_own_step_files(scripts.own_steps, scripts.own_scripts)),
        *check_downloads(setup),
        *check_node_metrics(setup, shape.region),
        *_people(shape, setup),
        *check_people_of(setup, has_accounting=keeps_records(shape.accounting), on_parallelcluster=True),
        *check_training_of(shape, setup),
        *_untold(given, setup),
    ]
    return [problem.under("scripts") if problem.path[0] in _OF_SCRIPTS else problem for problem in found]


def _people(shape: ClusterShape, setup: NodeSetup) -> Iterator[Problem]:
    if setup.slurm_accounts:
        yield from check_parallelcluster_enforces(shape.slurm.custom_settings, shape.slurm.custom_settings_file)
    if tells_directory_twice(shape.overrides, setup.directory):
        yield directory_twice("directory")


def _untold(given: NodeScripts | None, setup: NodeSetup) -> list[Problem]:
    scripts = given or NodeScripts()
    return check_nodes_told(
        given_for_nodes(setup, skip_steps=scripts.skip_steps, own_steps=scripts.own_steps),
        any_script=given is not None,
        scripts_lie_in_s3=False,
        own_folder=scripts.scripts is not None,
        steps=[(name,) for name in _OF_SCRIPTS],
    )
