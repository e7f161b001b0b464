"""All errors that llm-fleet's rules and ParallelCluster's validators must both report."""

from tests.agreement.parallelcluster import (
    defects_of_capacity,
    defects_of_clusters,
    defects_of_heads,
    defects_of_lustre,
    defects_of_nodes,
    defects_of_settings,
    defects_of_storage,
    defects_of_volumes,
)

DEFECTS = (
    *defects_of_clusters.DEFECTS,
    *defects_of_heads.DEFECTS,
    *defects_of_settings.DEFECTS,
    *defects_of_nodes.DEFECTS,
    *defects_of_capacity.DEFECTS,
    *defects_of_storage.DEFECTS,
    *defects_of_volumes.DEFECTS,
    *defects_of_lustre.DEFECTS,
)
