"""What is wrong with what a cluster's nodes are told, by the parameters of the cluster."""

from collections.abc import Iterator

from llm_fleet.hyperpod.lifecycle_scripts import LifecycleScripts
from llm_fleet.lifecycle.node_setup import (
    NodeSetup,
    check_downloads,
    check_node_metrics,
    check_own_step_files,
    check_people_of,
    given_for_nodes,
)
from llm_fleet.lifecycle.training_runtime import files_of
from llm_fleet.rules.node_settings import NodeOfGroup, NodeSettings, check_node_settings
from llm_fleet.rules.nodes_told import check_nodes_told
from llm_fleet.rules.people.enforcement import check_hyperpod_enforces
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.terms import NodeType, SlurmConfigStrategy
from llm_fleet.rules.training.check import check_training
from llm_fleet.rules.training.place import SharedFolder, TrainingGroup, TrainingPlace
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup

_OF_LIFECYCLE = ("skip_steps", "own_steps")


def node_problems(
    cluster: PlacedCluster, setup: NodeSetup, lifecycle: LifecycleScripts | None, *, internet: bool
) -> list[Problem]:
    """Return everything that is wrong with `setup` and with the steps of `lifecycle`; `internet`: nodes reach it."""
    scripts = lifecycle or LifecycleScripts()
    settings = NodeSettings(
        users=setup.users,
        s3_mounts=setup.s3_mounts,
        neuron_release=setup.neuron.release if setup.neuron else None,
        skip_steps=scripts.skip_steps,
        own_steps=scripts.own_steps,
        group_names=[group.name for group in cluster.groups],
        instance_types=[name for group in cluster.groups for name in group.types],
        mount_paths=[mount.mount_path for mount in cluster.mounts],
        nodes=[node for group in cluster.groups for node in _nodes(group)],
    )
    found = [
        *check_node_settings(settings),
        *(problem.under("own_steps") for problem in check_own_step_files(scripts.own_steps, scripts.own_scripts)),
        *check_downloads(setup),
        *check_node_metrics(setup, cluster.region),
        *check_people_of(setup, has_accounting=True, on_parallelcluster=False),
        *(check_hyperpod_enforces(*_slurm_conf(cluster)) if setup.slurm_accounts else ()),
        *_training(cluster, setup, internet),
        *_untold(cluster, setup, lifecycle),
    ]
    return [problem.under("lifecycle") if problem.path[0] in _OF_LIFECYCLE else problem for problem in found]


def _training(cluster: PlacedCluster, setup: NodeSetup, internet: bool) -> list[Problem]:
    if setup.training is None:
        return []
    place = TrainingPlace(
        groups=[TrainingGroup.of_hyperpod(group, cluster.mounts) for group in cluster.groups],
        shared=[SharedFolder(kind=mount.kind, path=mount.mount_path) for mount in cluster.mounts],
        region=cluster.region,
        neuron_release=setup.neuron.release if setup.neuron else None,
        source=setup.downloads.source,
        files=files_of(setup.downloads.lock),
        internet=internet,
    )
    return [problem.under("training") for problem in check_training(setup.training, place)]


def _nodes(group: InstanceGroup) -> Iterator[NodeOfGroup]:
    if group.hook is not None:
        yield group.name, group.node_type, group.hook.value


def _slurm_conf(cluster: PlacedCluster) -> tuple[str | None, SlurmConfigStrategy | None]:
    """Return when the controller runs our scripts, and who owns slurm.conf then."""
    nodes = [node for group in cluster.groups if group.node_type is NodeType.CONTROLLER for node in _nodes(group)]
    return next((hook for _, _, hook in nodes), None), cluster.spec.slurm_config_strategy


def _untold(cluster: PlacedCluster, setup: NodeSetup, lifecycle: LifecycleScripts | None) -> list[Problem]:
    scripts = lifecycle or LifecycleScripts()
    return check_nodes_told(
        given_for_nodes(setup, skip_steps=scripts.skip_steps, own_steps=scripts.own_steps),
        any_script=lifecycle is not None and any(group.script for group in cluster.groups),
        scripts_lie_in_s3=scripts.prefix is not None,
        own_folder=scripts.scripts is not None,
        steps=[(name,) for name in _OF_LIFECYCLE],
    )
