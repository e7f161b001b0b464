"""What starts a training job by itself."""

import json

from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from llm_fleet.iam.statements import Permission
from llm_fleet.sagemaker.training_job.job_permissions import ServiceRole
from llm_fleet.spec.training_job import JobSchedule

_RETRIES, _OLDEST_SECONDS = 3, 3600


class ScheduledStart(Construct):
    """A schedule of EventBridge Scheduler that starts a state machine, and the role that it does so with."""

    def __init__(self, scope: Construct, id: str, *, schedule: JobSchedule, name: str, state_machine_arn: str) -> None:
        """Start `state_machine_arn` by `schedule`; the schedule is called `name`.

        A start that fails is tried three times within an hour, and then not again before the next time.
        """
        super().__init__(scope, id)
        role = ServiceRole(
            self,
            "Role",
            service="scheduler.amazonaws.com",
            description=f"Schedule of the training job {name}",
            permissions=(
                Permission(
                    sid="Start",
                    actions=("states:StartExecution",),
                    resources=(state_machine_arn,),
                    reason="the schedule starts this machine, and no other",
                ),
            ),
        )
        given = {"hyperparameters": dict(schedule.hyperparameters)} if schedule.hyperparameters else {}
        self.schedule = scheduler.CfnSchedule(
            self,
            "Resource",
            name=name,
            description=f"Starts the training job {name}",
            schedule_expression=schedule.expression,
            schedule_expression_timezone=schedule.time_zone,
            state="ENABLED" if schedule.enabled else "DISABLED",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=state_machine_arn,
                role_arn=role.role.role_arn,
                input=json.dumps(given),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_retry_attempts=_RETRIES, maximum_event_age_in_seconds=_OLDEST_SECONDS
                ),
            ),
        )
        """The L1 beneath."""
        self.schedule.node.add_dependency(role)
