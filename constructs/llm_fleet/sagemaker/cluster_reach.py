"""Lets people reach clusters from a notebook or from Studio: through Session Manager, without a port or a key."""

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge_wildcards
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
    principal = grantee.grant_principal
    if clusters and isinstance(principal, Construct):
        acknowledge_wildcards(principal, lambda: _reasons(cdk.Stack.of(principal)))


def cluster_reach_files(clusters: Sequence[ReachableCluster]) -> Mapping[str, str]:
    """Return the files that the reach wants where people work, by their absolute paths; none without clusters.

    The program `cluster-shell <cluster>` finds the node to log in to and opens a session there. It needs Python 3, the
    AWS CLI and its Session Manager plugin; of the last it tells where AWS has it, for nothing is downloaded unasked.
    """
    if not clusters:
        return {}
    return {_INSTALLED: (default_folder() / _SCRIPT).read_text(encoding="utf-8")}


def _reasons(stack: cdk.Stack) -> dict[str, str]:
    # cdk-nag writes a policy variable `${x}` as it does references: `<x>`.
    sessions = stack.format_arn(service="ssm", resource="session", resource_name="<aws:userid>-*")
    instances = stack.format_arn(service="ec2", resource="instance", resource_name="*")
    return {
        sessions: "sessions of one's own, to resume and end them; their ids do not exist before",
        instances: "ParallelCluster's nodes come and go; the tag of the cluster is a condition",
        "*": "EC2 lets nobody look a head node up but among all instances",
    }
