"""Lets a cluster in to its database, or to its slurmdbd."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from llm_fleet.network.node_ports import let_through
from llm_fleet.rules.tokens import is_unresolved


def let_in(
    scope: Construct, groups: Sequence[ec2.ISecurityGroup], connections: ec2.IConnectable, *, port: int
) -> list[Construct]:
    """Let nodes in `groups`, of the cluster at `scope`, open connections to what `connections` guards.

    The rules of a group that the cluster's stack makes stand in that stack, which waits for the guard's already. Those
    of a group that clusters share, and of one that is known by its id and that any stack may import, stand beside the
    guard, once for all clusters that are given the same guard. A guard that is the nodes' own group needs no rule.
    """
    rules: list[Construct] = []
    for guard in connections.connections.security_groups:
        for group in groups:
            if group.security_group_id == guard.security_group_id:
                continue
            made_here = is_unresolved(group.security_group_id) and cdk.Stack.of(group) is cdk.Stack.of(scope)
            home = scope if made_here else guard
            rules.append(let_through(home, group, guard, what="slurmdbd on the controller of a cluster", port=port))
    return rules
