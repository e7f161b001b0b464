"""What the nodes of a ParallelCluster may do besides what ParallelCluster itself allows them.

ParallelCluster makes the roles, with what Slurm, scaling and its logs need. Session Manager comes with AWS's policy
AmazonSSMManagedInstanceCore.
"""

from llm_fleet.iam.features import NodeFeatures
from llm_fleet.iam.permission import Permission, Place
from llm_fleet.iam.permissions import (
    bundle,
    data_buckets,
    failures,
    hub_token,
    metrics,
    metrics_log,
    mirror,
    private_images,
    reports,
)


def parallelcluster_permissions(features: NodeFeatures, place: Place) -> tuple[Permission, ...]:
    """Return every statement that nodes with `features` need at `place`, in a stable order."""
    return (
        *bundle(features),
        *data_buckets(features),
        *mirror(features),
        *reports(features),
        *failures(features, place),
        *hub_token(features),
        *private_images(features),
        *metrics(features),
        *metrics_log(features, place),
    )
