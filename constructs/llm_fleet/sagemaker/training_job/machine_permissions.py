"""What the state machine of a training job may do. Each statement with its reason."""

from dataclasses import dataclass

from llm_fleet.iam.statements import Permission, Place
from llm_fleet.sagemaker.plan_permissions import plan_permissions


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFeatures:
    """What a machine is switched on to do."""

    name: str
    """Begins the names of its jobs and alarms, with a hyphen after it."""
    role_arn: str
    """Of the jobs."""
    alarms: bool
    """Whether its jobs have alarms."""
    table_arn: str | None = None
    """Where the watch writes down what it decided."""
    table_key_arn: str | None = None
    """KMS key of that table."""
    training_plan_arn: str | None = None
    """Capacity that its jobs run on."""


def machine_permissions(features: MachineFeatures, place: Place) -> tuple[Permission, ...]:
    """Return every statement that a machine with `features` needs at `place`, in a stable order."""
    # SageMaker writes names in small letters in the ARNs of jobs.
    names = dict.fromkeys((features.name, features.name.lower()))
    jobs = tuple(place.arn("sagemaker", f"training-job/{name}-*") for name in names)
    return (
        Permission(
            sid="Jobs",
            actions=("sagemaker:AddTags", "sagemaker:CreateTrainingJob", "sagemaker:DescribeTrainingJob"),
            resources=jobs,
            reason="it starts its own jobs, with their tags, and asks how they are; they are named when they start",
        ),
        Permission(
            sid="JobRole",
            actions=("iam:PassRole",),
            resources=(features.role_arn,),
            conditions={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
            reason="its jobs run with this role, and no other",
        ),
        *plan_permissions(features.training_plan_arn, place, sid="TrainingPlan"),
        *(_alarms(features.name, place) if features.alarms else ()),
        *_record(features),
        *_logging_and_tracing(),
    )


def _alarms(name: str, place: Place) -> tuple[Permission, ...]:
    return (
        Permission(
            sid="Alarms",
            actions=("cloudwatch:DeleteAlarms", "cloudwatch:PutMetricAlarm"),
            resources=(place.arn("cloudwatch", f"alarm:{name}-*"),),
            reason="each job has alarms of its own, named after it, as long as it lives",
        ),
    )


def _record(features: MachineFeatures) -> tuple[Permission, ...]:
    if features.table_arn is None:
        return ()
    read = Permission(
        sid="Decision",
        actions=("dynamodb:GetItem",),
        resources=(features.table_arn,),
        reason="it asks what the watch decided about a job that ended",
    )
    if features.table_key_arn is None:
        return (read,)
    decrypt = Permission(
        sid="DecisionKey",
        actions=("kms:Decrypt",),
        resources=(features.table_key_arn,),
        conditions={"StringLike": {"kms:ViaService": "dynamodb.*.amazonaws.com"}},
        reason="the watch's record is encrypted with a key of its own",
    )
    return (read, decrypt)


def _logging_and_tracing() -> tuple[Permission, ...]:
    """As the developer guide's pages on logging and on X-Ray have it; these actions know no resource."""
    return (
        Permission(
            sid="LogDelivery",
            actions=(
                "logs:CreateLogDelivery",
                "logs:DeleteLogDelivery",
                "logs:DescribeLogGroups",
                "logs:DescribeResourcePolicies",
                "logs:GetLogDelivery",
                "logs:ListLogDeliveries",
                "logs:PutResourcePolicy",
                "logs:UpdateLogDelivery",
            ),
            resources=("*",),
            reason="Step Functions has its log delivered; these actions know no narrower resource",
        ),
        Permission(
            sid="Traces",
            actions=(
                "xray:GetSamplingRules",
                "xray:GetSamplingTargets",
                "xray:PutTelemetryRecords",
                "xray:PutTraceSegments",
            ),
            resources=("*",),
            reason="executions are traced; X-Ray's actions know no resource",
        ),
    )
