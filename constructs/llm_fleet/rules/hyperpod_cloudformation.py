"""What HyperPod's API can do for Slurm and CloudFormation's `AWS::SageMaker::Cluster` cannot say (2026-11).

Sources: the resource schema that cfn-lint 1.58 ships, against botocore 1.44's model; a test compares the two. Left
out in silence, such a setting would look as if it were in force.
"""

from collections.abc import Iterator

from llm_fleet.rules.codes import Code
from llm_fleet.rules.problem import PathPart, Problem
from llm_fleet.rules.terms import DeepHealthCheck, PatchingStrategy
from llm_fleet.spec.instance_group import AutoPatch, InstanceGroup


def check_cloudformation(group: InstanceGroup) -> list[Problem]:
    """Return what CloudFormation cannot say of `group`, by its attributes: `("auto_patch", "strategy")`."""
    return list(_gaps(group))


def _gaps(group: InstanceGroup) -> Iterator[Problem]:
    if DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION in group.deep_health_checks:
        yield _gap(
            "deep_health_checks",
            value=DeepHealthCheck.MULTI_NODE_TRAINING_VALIDATION.value,
            remedy="leave it out here and start it with `aws sagemaker start-cluster-health-check`",
        )
    if group.image_release_version is not None:
        yield _gap(
            "image_release_version",
            value=group.image_release_version,
            remedy="leave it out here and set it with `aws sagemaker update-cluster-software`, or give an image_id",
        )
    if group.auto_patch is not None:
        yield from _gaps_of_patch(group.auto_patch)


def _gaps_of_patch(patch: AutoPatch) -> Iterator[Problem]:
    if patch.strategy is PatchingStrategy.DRAIN_FIRST:
        yield _gap(
            "auto_patch",
            "strategy",
            value=patch.strategy.value,
            remedy="DrainFirst evicts pods and is for EKS; on Slurm use WhenIdle or WhenAllIdle",
        )
    remedy = "leave it out here and set it with `aws sagemaker update-cluster` after the deployment"
    for field, value in (
        ("next_patch_date", patch.next_patch_date),
        ("idle_wait_window_seconds", patch.idle_wait_window_seconds),
        ("drain_timeout_seconds", patch.drain_timeout_seconds),
        ("on_drain_timeout", patch.on_drain_timeout),
    ):
        if value is not None:
            yield _gap("auto_patch", field, value=value, remedy=remedy)


def _gap(*path: PathPart, value: object, remedy: str) -> Problem:
    return Problem(
        code=Code.CLUSTER_NOT_IN_CLOUDFORMATION,
        message=f"CloudFormation cannot set {path[-1]} to this on a Slurm cluster, although HyperPod's API may",
        path=path,
        value=value,
        remedy=remedy,
    )
