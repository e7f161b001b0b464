"""What cannot be had with Slurm's legacy configuration, a `provisioning_parameters.json` among the scripts.

Source: SageMaker developer guide, continuous provisioning with Slurm (prerequisites) and migration from the legacy
to the API-driven configuration (2026).
"""

from collections.abc import Iterator

from llm_fleet.rules.codes import Code
from llm_fleet.rules.hyperpod_protocols import ClusterLike
from llm_fleet.rules.problem import PathPart, Problem


def check_legacy(cluster: ClusterLike) -> Iterator[Problem]:
    """Return what of `cluster` needs the API's configuration, which its scripts replace by their own file."""
    if cluster.node_provisioning_mode is not None:
        yield _problem(
            "node_provisioning_mode",
            message="Continuous provisioning takes Slurm's groups from the API, not from provisioning_parameters.json",
            remedy="take that file out of the scripts, or give up Continuous provisioning",
        )
    for group in cluster.groups:
        if group.on_create is None:
            yield _problem(
                "groups",
                group.name,
                "on_create",
                message="with provisioning_parameters.json a script of yours configures each node, by OnCreate",
                remedy="let the lifecycle scripts run by OnCreate, or take that file out of the scripts",
            )


def _problem(*path: PathPart, message: str, remedy: str) -> Problem:
    return Problem(code=Code.CLUSTER_LEGACY_CONFIG, message=message, path=path, remedy=remedy)
