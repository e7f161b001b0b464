"""The tag by which Session Manager knows whom a session runs as."""

from collections.abc import Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from llm_fleet.catalog.nodes import session_facts
from llm_fleet.iam.granted import tell_reasons
from llm_fleet.rules.people.sessions import cannot_tag, check_run_as
from llm_fleet.rules.problem import Problem, raise_problems

_TAGGABLE = ("AWS::IAM::Role", "AWS::IAM::User")


def tag_session_user(
    role: iam.IRole | iam.Role | iam.IUser | iam.User, user: str, *, known: Sequence[str] | None
) -> None:
    """Give `role` the tag that has its sessions run as `user`; `known`: the cluster's users, `None` if nobody knows.

    Raises `FleetError` (LF1219) for a user whom the nodes have not, and for a role that cannot have the tag: one that
    is made elsewhere, or has it already with another user.
    """
    problems = check_run_as(user, known)
    # jsii's answer for a role that is made elsewhere is no Construct in Python, and has a node all the same.
    if not hasattr(role, "node"):
        raise_problems([*problems, cannot_tag("this is no role and no user of IAM", "give an iam.Role or iam.User")])
    resource = role.node.default_child
    kind = resource.cfn_resource_type if isinstance(resource, cdk.CfnResource) else None
    if kind not in _TAGGABLE:
        problems.append(_elsewhere(user))
        raise_problems(problems, subject=role.node.path)
    tags = cast(iam.CfnRole, resource).tags
    there = tags.tag_values().get(session_facts().tag)
    if there is not None and there != user:
        problems.append(
            cannot_tag(
                f"the sessions of this role run as {there} already, and a role has one user",
                f"make a role of their own for {user}",
            )
        )
    raise_problems(problems, subject=role.node.path)
    tags.set_tag(session_facts().tag, user)


def tell_session_reasons(role: iam.IRole | iam.Role | iam.IUser | iam.User) -> None:
    """Tell cdk-nag why what `role` may do with sessions has wildcards."""
    stack = cdk.Stack.of(role)
    tell_reasons(
        cast(iam.IGrantable, role),
        {
            # cdk-nag writes a policy variable `${x}` as it does references: `<x>`.
            stack.format_arn(
                service="ssm", resource="session", resource_name="<aws:userid>-*"
            ): "sessions of one's own, to resume and end them; their ids do not exist before",
            stack.format_arn(
                service="ec2", resource="instance", resource_name="*"
            ): "ParallelCluster's nodes come and go; the tag of the cluster is a condition",
        },
    )


def _elsewhere(user: str) -> Problem:
    tag = session_facts().tag
    return cannot_tag(
        "this role is made elsewhere, and nothing here can give it a tag",
        f"tag it there with {tag}={user} (`aws iam tag-role --role-name NAME --tags Key={tag},Value={user}`), and use "
        "`grants.ssm_session` with `documents`",
    )
