"""What a ParallelCluster is like for a training runtime, and what is wrong with one in it."""

from llm_fleet.lifecycle.node_setup import NodeSetup
from llm_fleet.lifecycle.training_runtime import files_of
from llm_fleet.parallelcluster.cluster_storage import FleetMounts
from llm_fleet.parallelcluster.node_groups import node_groups
from llm_fleet.rules.parallelcluster.cluster_shape import ClusterShape
from llm_fleet.rules.parallelcluster.terms import StorageKind
from llm_fleet.rules.problem import Problem
from llm_fleet.rules.training.check import check_training
from llm_fleet.rules.training.place import SharedFolder, TrainingGroup, TrainingPlace
from llm_fleet.spec.parallelcluster import SharedStorage


def check_training_of(shape: ClusterShape, setup: NodeSetup) -> list[Problem]:
    """Return what is wrong with the training runtime of `setup` in a cluster like `shape`, by its parameters."""
    if setup.training is None:
        return []
    place = TrainingPlace(
        groups=[
            TrainingGroup(name=group.name, role=group.role, instance_types=group.instance_types)
            for group in node_groups(shape)
        ],
        shared=[_shared(each) for each in shape.shared_storage],
        region=shape.region,
        neuron_release=setup.neuron.release if setup.neuron else None,
        os=shape.os,
        source=setup.downloads.source,
        files=files_of(setup.downloads.lock),
    )
    return [problem.under("training") for problem in check_training(setup.training, place)]


def further_shared_folders(shape: ClusterShape, mounts: FleetMounts) -> list[SharedFolder]:
    """Return the file systems of the cluster besides those of the fleet: ParallelCluster mounts each on every node."""
    of_fleet = {mount.mount_path for mount in mounts.node_mounts()}
    return [_shared(each) for each in shape.shared_storage if each.mount_dir not in of_fleet]


def _shared(storage: SharedStorage) -> SharedFolder:
    lustre = storage.kind is StorageKind.FSX_LUSTRE
    return SharedFolder(kind="lustre" if lustre else storage.kind.value, path=storage.mount_dir)
