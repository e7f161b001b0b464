"""Grants that say to cdk-nag why they are as wide as they are, wherever the CDK writes them."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam
from constructs import Construct

from llm_fleet.acknowledge import acknowledge, acknowledge_wildcards
from llm_fleet.iam.permission import Permission
from llm_fleet.iam.statements import reasons_of

_INLINE = "what is granted stands in a policy within the role: the CDK's grants know no other way"


def grant(grantee: iam.IGrantable, permissions: Sequence[Permission]) -> iam.Grant:
    """Grant `permissions`, one or more, and tell their reasons. Their ids are left out: two grants may be alike."""
    given: iam.Grant | None = None
    for one in permissions:
        added = iam.Grant.add_to_principal(
            grantee=grantee, actions=list(one.actions), resource_arns=list(one.resources)
        )
        given = added if given is None else given.combine(added)
    if given is None:
        return iam.Grant.drop(grantee, "nothing is to be granted")
    tell_reasons(grantee, reasons_of(permissions))
    return given


def tell_reasons(grantee: iam.IGrantable, reasons: Mapping[str, str]) -> None:
    """Acknowledge each ARN with a `*` in what `grantee` was granted, with its reason, and that it is inline."""
    for policy in _policies(grantee.grant_principal):
        acknowledge_wildcards(policy, lambda: dict(reasons))
        acknowledge(policy, _INLINE, "NIST.800.53.R5-IAMNoInlinePolicy")


def _policies(principal: object) -> Sequence[Construct]:
    """Return the policies that grants to `principal` go into; the role itself where they are not to be found."""
    several = getattr(principal, "granted_policies", None)
    if several is not None:
        return several
    if not isinstance(principal, Construct):
        return ()
    own = principal.node.try_find_child("DefaultPolicy")
    return (own if isinstance(own, Construct) else principal,)
