"""What others may do with a training job."""

from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.sagemaker.codes import SageMakerCode

_TARGET = "ssm:resourceTag/aws:ssmmessages:target-id"


class GrantedJob(Protocol):
    """A training job that something can be granted on."""

    @property
    def name(self) -> str:
        """What the names of its jobs begin with."""
        ...

    @property
    def state_machine_arn(self) -> str:
        """The machine that starts it."""
        ...

    @property
    def remote_debug(self) -> bool:
        """Whether its containers let a shell be opened."""
        ...


class JobGrants:
    """What others may do with a job. Each method returns the `Grant`, whose `success` tells an imported role."""

    def __init__(self, scope: IConstruct, job: GrantedJob) -> None:
        """Grant on `job`, in the stack of `scope`."""
        self._scope = scope
        self._stack = cdk.Stack.of(scope)
        self._job = job

    def start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` start the job and see its runs; it needs no right on SageMaker, nor to pass a role."""
        started = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["states:StartExecution", "states:DescribeStateMachine", "states:ListExecutions"],
            resource_arns=[self._job.state_machine_arn],
        )
        return started.combine(
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=["states:DescribeExecution", "states:GetExecutionHistory", "states:StopExecution"],
                resource_arns=[self._executions],
            )
        )

    def stop(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` see the job's jobs and stop them: the end of an execution does not stop its job."""
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:DescribeTrainingJob", "sagemaker:StopTrainingJob"],
            resource_arns=[
                self._stack.format_arn(service="sagemaker", resource="training-job", resource_name=f"{name}-*")
                # assumption: sagemaker-arns-in-small-letters
                for name in dict.fromkeys((self._job.name, self._job.name.lower()))
            ],
        )

    def debug(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` open a shell in the containers of this job, and end it again.

        The session's target is limited by the condition of the guide on remote debugging; which resource the action is
        asked on is documented as `*` only. assumption: remote-debug-session-resource
        Raises `FleetError` (LF974) for a job whose description has no `remote_debug`.
        """
        if not self._job.remote_debug:
            problem = Problem(
                code=SageMakerCode.TRAINING_NO_SHELL,
                message="no shell can be opened in the containers of this job",
                path=("remote_debug",),
                remedy="write remote_debug=True into its TrainingJobSpec, or leave the grant out",
            )
            raise_problems([problem], subject=self._scope.node.path)
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["ssm:ResumeSession", "ssm:StartSession", "ssm:TerminateSession"],
            resource_arns=["*"],
            conditions={"StringLike": {_TARGET: [f"sagemaker-training-job:{self._job.name}-*"]}},
        )

    @property
    def _executions(self) -> str:
        return self._stack.format_arn(
            service="states",
            resource="execution",
            resource_name=f"{self._job.name}:*",
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
