"""What hosts of a service may do, each statement with its reason.

They stand in place of AmazonEC2ContainerServiceforEC2Role, which lets a host write every log group of the account, pull
every image and join every cluster. Which actions know resources is from AWS's service authorization reference.
"""

from collections.abc import Sequence

from llm_fleet.iam.permissions import sessions
from llm_fleet.iam.statements import Permission, Place


def agent_permissions(place: Place, *, cluster_name: str) -> tuple[Permission, ...]:
    """Return what the ECS agent needs to join this one cluster and to tell of its tasks.

    No image is pulled with it: that is the task's execution role's.
    """
    cluster = place.arn("ecs", f"cluster/{cluster_name}")
    return (
        Permission(
            sid="AgentEndpoint",
            actions=("ecs:DiscoverPollEndpoint",),
            resources=("*",),
            reason="the agent asks where it should connect to; the action knows no resource",
        ),
        Permission(
            sid="AgentCluster",
            actions=(
                "ecs:DeregisterContainerInstance",
                "ecs:RegisterContainerInstance",
                "ecs:SubmitAttachmentStateChanges",
                "ecs:SubmitContainerStateChange",
                "ecs:SubmitTaskStateChange",
            ),
            resources=(cluster,),
            reason="the agent registers its host with this cluster, and tells what becomes of its tasks",
        ),
        Permission(
            sid="AgentInstance",
            actions=("ecs:Poll", "ecs:StartTelemetrySession"),
            resources=(place.arn("ecs", f"container-instance/{cluster_name}/*"),),
            conditions={"ArnEquals": {"ecs:cluster": cluster}},
            reason="the agent is told its tasks, and sends their metrics; ECS makes up the id when a host registers",
        ),
    )


def boot_permissions(*, log_group_arn: str, stack_id: str) -> tuple[Permission, ...]:
    """Return what a host needs to tell how its start went. `log_group_arn` has no `:*` at its end."""
    return (
        Permission(
            sid="BootStream",
            actions=("logs:CreateLogStream",),
            resources=(f"{log_group_arn}:*",),
            reason="a host makes the stream that is named after its id; IAM knows this action by its group",
        ),
        Permission(
            sid="BootLog",
            actions=("logs:PutLogEvents",),
            resources=(f"{log_group_arn}:log-stream:host/*",),
            reason="a host writes how its start went, and into nobody else's stream",
        ),
        Permission(
            sid="BootSignal",
            actions=("cloudformation:SignalResource",),
            resources=(stack_id,),
            reason="a host that may not join fails the deployment at once; nobody waits for it",
        ),
    )


def session_permissions() -> tuple[Permission, ...]:
    """Return what the Session Manager needs, which is the way onto a host."""
    return (
        Permission(
            sid="SessionsInformation",
            actions=("ssm:UpdateInstanceInformation",),
            resources=("*",),
            reason="the agent of the Session Manager reports its host; the action knows no resource of a new host",
        ),
        *sessions(),
    )


def host_permissions(
    place: Place, *, cluster_name: str, log_group_arn: str, stack_id: str, model: Sequence[Permission]
) -> tuple[Permission, ...]:
    """Return every statement of a host; `model` are those that read the model."""
    return (
        *agent_permissions(place, cluster_name=cluster_name),
        *boot_permissions(log_group_arn=log_group_arn, stack_id=stack_id),
        *session_permissions(),
        *model,
    )
