"""Who jobs belong to on a cluster."""

from llm_fleet.cli.failure import refuse
from llm_fleet.config.node_setup import NodeSetupModel
from llm_fleet.rules.codes import Code
from llm_fleet.rules.nearest import did_you_mean

_OF_THE_IMAGE = "#1000"
"""The user that AWS's images bring, `ubuntu` or `ec2-user`, as sudo takes an id."""


def user_of(cluster: NodeSetupModel, asked: str | None) -> str:
    """Return whom to submit as: whoever is `asked` for, else the one of the cluster's `users:`, else the image's.

    Raises `FleetError` (LF892) when it has several and nobody said which, or none of that name.
    """
    names = list(cluster.people)
    if asked in names or (asked is not None and not names):
        return asked
    if asked is None and len(names) < 2:
        return names[0] if names else _OF_THE_IMAGE
    refuse(
        Code.JOBS_USER,
        "the cluster has no such user" if asked else "nobody told which of the cluster's users the jobs belong to",
        did_you_mean(asked or "", names, otherwise=f"name one with --user: {', '.join(names)}"),
        value=asked,
        subject=f"cluster {cluster.cluster_name}",
    )
