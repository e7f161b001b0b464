"""What ParallelCluster and EC2 do not do with some families of instances."""

from collections.abc import Mapping

from llm_fleet.catalog.data_file import load


def families_without_placement_group() -> frozenset[str]:
    """Return the families that EC2 puts into no cluster placement group."""
    return frozenset(load("parallelcluster")["instances"]["without_placement_group"])


def families_without_drivers() -> frozenset[str]:
    """Return the GPU families that the NVIDIA drivers of ParallelCluster's own images do not know any more."""
    return frozenset(load("parallelcluster")["instances"]["without_drivers"])


def unsupported_oses() -> Mapping[str, tuple[str, ...]]:
    """Return the operating systems that a family does not run on, by family."""
    return {family: tuple(oses) for family, oses in load("parallelcluster")["instances"]["unsupported_oses"].items()}
