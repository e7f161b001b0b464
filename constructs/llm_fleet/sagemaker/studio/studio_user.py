"""Somebody who works in Studio."""

from dataclasses import dataclass

from aws_cdk import aws_iam as iam


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioUser:
    """A user profile of a domain. Judged by the domain that takes it."""

    name: str
    """Of the profile: 1 to 63 letters, digits and inner hyphens, whatever their case. Changing it makes another user;
    the spaces of the old one must be deleted first."""
    uid: int | None = None
    """User id in file systems, 10000 to 4000000: the one that the person has on the clusters, so that files on FSx are
    the same person's in both places. Default: the service's own, the same for everybody."""
    gid: int | None = None
    """Group id, 1001 to 4000000. Default: the user id, as on clusters."""
    identity: str | None = None
    """User name in IAM Identity Center, for a domain with `StudioSignIn.SSO`; else none."""
    role: iam.IRole | None = None
    """What the person acts with. It must trust sagemaker.amazonaws.com for sts:AssumeRole and sts:SetSourceIdentity;
    nothing is added to it. Default: the domain's."""
