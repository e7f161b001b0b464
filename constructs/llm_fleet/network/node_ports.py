"""Rules between a cluster's security groups and their neighbours', each half a resource of its own."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, IConstruct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.network.naming import rule_description
from llm_fleet.rules.tokens import is_unresolved

_ALL = "-1"


def let_through(
    home: IConstruct, source: ec2.ISecurityGroup, target: ec2.ISecurityGroup, *, what: str, port: int | None = None
) -> Construct:
    """Let `source` open connections to `target`, on a TCP `port` or on all there is, and return the rules.

    The rules stand in the stack of `home`, so that the CDK's own choice ties no two stacks into a knot. Clusters that
    ask for the same rules share them: EC2 refuses a rule that is there already. What an existing `source` lets out
    stays as it is; see `takes_rules_outward`.
    """
    stack, what = cdk.Stack.of(home), rule_description(what)
    id = f"LlmFleetNodePorts{_key(source)}{_key(target)}{port or ''}"
    known = stack.node.try_find_child(id)
    if isinstance(known, Construct):
        return known
    rules = Construct(stack, id)
    protocol = _ALL if port is None else "tcp"
    if takes_rules_outward(source):
        ec2.CfnSecurityGroupEgress(
            rules,
            "Out",
            group_id=source.security_group_id,
            destination_security_group_id=target.security_group_id,
            ip_protocol=protocol,
            from_port=port,
            to_port=port,
            description=what,
        )
    ingress = ec2.CfnSecurityGroupIngress(
        rules,
        "In",
        group_id=target.security_group_id,
        source_security_group_id=source.security_group_id,
        ip_protocol=protocol,
        from_port=port,
        to_port=port,
        description=what,
    )
    if port is None:
        acknowledge(
            ingress,
            "nodes of one cluster need every port of each other, for Slurm and for EFA, which has no ports; the rule "
            "names their security group and nothing else",
            "NIST.800.53.R5-EC2RestrictedCommonPorts",
        )
    return rules


def takes_rules_outward(group: ec2.ISecurityGroup) -> bool:
    """Return whether rules outward are added to `group`: not to one that exists already and is known by its id.

    Such a group usually lets everything out, and CloudFormation takes that away when it adds a rule outward. The CDK
    leaves imported groups alone for the same reason. assumption: cloudformation-egress-removes-everything-out
    """
    return is_unresolved(group.security_group_id)


def _key(group: ec2.ISecurityGroup) -> str:
    """Return what tells `group` from others: its id where that is known, however often it is imported."""
    return group.node.addr[-8:] if is_unresolved(group.security_group_id) else group.security_group_id
