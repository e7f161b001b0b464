"""Lets people reach clusters from a notebook or from Studio: through Session Manager, without a port or a key."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam

from llm_fleet.lifecycle.script_folder import default_folder
from llm_fleet.sagemaker.reachable_cluster import ReachableCluster

_INSTALLED = "/usr/local/bin/cluster-shell"
_SCRIPT = "workbench/cluster_shell.py"


def grant_cluster_reach(grantee: iam.IGrantable, clusters: Sequence[ReachableCluster]) -> None:
    """Let `grantee` open shells on the nodes of `clusters`, and run `llm-fleet jobs` against them.

    Whoever has a shell on a node is root there, and can do all that a node can: the grant is for nothing less.
    """
    for cluster in clusters:
        cluster.grants.ssm_session(grantee)
        cluster.grants.submit_jobs(grantee)


def cluster_reach_files(clusters: Sequence[ReachableCluster]) -> Mapping[str, str]:
    """Return the files that the reach wants where people work, by their absolute paths; none without clusters.

    The program `cluster-shell <cluster>` finds the node to log in to and opens a session there. It needs Python 3, the
    AWS CLI and its Session Manager plugin; of the last it tells where AWS has it, for nothing is downloaded unasked.
    """
    if not clusters:
        return {}
    return {_INSTALLED: (default_folder() / _SCRIPT).read_text(encoding="utf-8")}
