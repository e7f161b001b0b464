"""What whoever starts a training job on reserved capacity needs besides the right on the job."""

from llm_fleet.iam.statements import Permission, Place


def plan_permissions(arn: str | None, place: Place, *, sid: str) -> tuple[Permission, ...]:
    """Return the statement for the training plan `arn`; none without a plan.

    CreateTrainingJob is asked on the plan and on its reserved capacity, too
    (docs.aws.amazon.com/sagemaker/latest/dg/training-plan-iam-permissions.html).
    """
    if arn is None:
        return ()
    return (
        Permission(
            sid=sid,
            actions=("sagemaker:CreateTrainingJob",),
            resources=(arn, place.arn("sagemaker", "reserved-capacity/*")),
            reason="the job runs on capacity that a training plan reserved; which part of it is, the plan alone knows",
        ),
    )
