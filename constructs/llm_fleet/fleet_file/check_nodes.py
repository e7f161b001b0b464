"""What the nodes of a HyperPod cluster are told, judged by the rules that judge the construct."""

from collections.abc import Iterator

from llm_fleet.fleet_file.check_node_setup import OWN, SKIP, check_node_setup
from llm_fleet.fleet_file.cluster import HyperPodConfig
from llm_fleet.rules.node_setup import NodeOfGroup, check_nodes_told
from llm_fleet.rules.problem import Problem
from llm_fleet.spec.hyperpod_cluster import PlacedCluster
from llm_fleet.spec.instance_group import InstanceGroup


def check_nodes(view: PlacedCluster, config: HyperPodConfig) -> Iterator[Problem]:
    """Return what is wrong with what nodes are told, by attribute names below the cluster."""
    yield from check_node_setup(
        config,
        config.scripts,
        group_names=[group.name for group in config.groups],
        instance_types=[name for group in config.groups for name in group.types],
        mount_paths=[mount.mount_path for mount in view.mounts],
        nodes=[node for group in view.groups for node in _nodes(group)],
    )
    yield from _untold(config)


def _nodes(group: InstanceGroup) -> Iterator[NodeOfGroup]:
    if group.hook is not None:
        yield group.name, group.node_type, group.hook.value


def _untold(config: HyperPodConfig) -> list[Problem]:
    scripts = config.scripts
    return check_nodes_told(
        {
            ("users",): bool(config.people),
            ("slurm_accounts",): bool(config.slurm_accounts),
            ("directory",): config.asked_directory is not None,
            ("s3_mounts",): bool(config.s3_mounts),
            ("neuron",): config.neuron is not None,
            ("training",): config.training is not None,
            ("downloads",): config.downloads is not None,
            SKIP: bool(scripts.skip_steps),
            OWN: scripts.own is not None,
        },
        any_script=any(group.script for group in config.running_groups),
        scripts_lie_in_s3=scripts.prefix is not None,
        own_folder=scripts.folder is not None,
        steps=[SKIP, OWN],
    )
