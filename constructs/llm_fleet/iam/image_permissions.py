"""Statements for pulling container images of private ECR repositories."""

from collections.abc import Sequence

from llm_fleet.iam.permission import Permission


def pull_images(repositories: Sequence[str], *, reason: str) -> tuple[Permission, ...]:
    """Return what pulls images of `repositories`, by ARN, and of no others; nothing without any.

    `reason`: who pulls them.
    """
    if not repositories:
        return ()
    return (
        Permission(
            sid="ImageRegistry",
            actions=("ecr:GetAuthorizationToken",),
            resources=("*",),
            reason="signing in to ECR comes before any pull; the action knows no resource",
        ),
        Permission(
            sid="Images",
            actions=("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"),
            resources=tuple(dict.fromkeys(repositories)),
            reason=reason,
        ),
    )
