"""Lets a cluster in to its database, or to its slurmdbd."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.network.node_ports import let_through


def let_in(
    scope: Construct, groups: Sequence[ec2.ISecurityGroup], connections: ec2.IConnectable, *, port: int
) -> list[Construct]:
    """Let nodes in `groups`, of the cluster at `scope`, open connections to what `connections` guards.

    The rules of a group that the cluster's stack makes stand in that stack, which waits for the guard's already. Those
    of a group that clusters share stand beside the guard, once for all of them.
    """
    rules: list[Construct] = []
    for guard in connections.connections.security_groups:
        for group in groups:
            home = scope if cdk.Stack.of(group) is cdk.Stack.of(scope) else guard
            rules.append(let_through(home, group, guard, what="slurmdbd on the controller of a cluster", port=port))
    return rules
