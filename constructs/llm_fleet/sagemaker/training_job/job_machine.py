"""The state machine of a training job, with its role and its log."""

import json
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from llm_fleet.acknowledge import acknowledge
from llm_fleet.iam.statements import Place
from llm_fleet.sagemaker.training_job.job_permissions import ServiceRole
from llm_fleet.sagemaker.training_job.machine_permissions import MachineFeatures, machine_permissions

_Machine = stepfunctions.CfnStateMachine
_LOG_PREFIX = "/aws/vendedlogs/states"
"""Log groups below it need no line each in the account's one resource policy (the guide on logging executions)."""


class JobMachine(Construct):
    """A STANDARD state machine that logs every step, without inputs and outputs, and traces executions by X-Ray."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        features: MachineFeatures,
        definition: dict[str, Any],
        place: Place,
        log_retention_days: int,
        encryption_key: kms.IKey | None,
    ) -> None:
        """Make the machine `features.name`.

        `encryption_key`: of its log; its policy must let CloudWatch Logs use it. Default CloudWatch Logs' own.
        """
        super().__init__(scope, id)
        self.log_group = logs.CfnLogGroup(
            self,
            "Log",
            log_group_name=f"{_LOG_PREFIX}/{features.name}",
            retention_in_days=log_retention_days,
            kms_key_id=encryption_key.key_arn if encryption_key else None,
        )
        """The L1 of its log; it goes with the stack."""
        self.log_group.apply_removal_policy(cdk.RemovalPolicy.DESTROY)
        if encryption_key is None:
            acknowledge(
                self.log_group,
                "CloudWatch Logs encrypts every log group with a key of its own, and steps are logged without their "
                "data; `encryption_key` takes another",
                "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
            )
        role = ServiceRole(
            self,
            "Role",
            service="states.amazonaws.com",
            description=f"State machine of the training job {features.name}",
            permissions=machine_permissions(features, place),
        )
        self.role: iam.IRole = role.role
        """What it acts with."""
        self.machine = _Machine(
            self,
            "Resource",
            state_machine_name=features.name,
            state_machine_type="STANDARD",
            role_arn=self.role.role_arn,
            # As text: the CDK drops null and empty objects of an object, and both mean something here.
            definition_string=json.dumps(definition, separators=(",", ":")),
            logging_configuration=_Machine.LoggingConfigurationProperty(
                level="ALL",
                include_execution_data=False,
                destinations=[
                    _Machine.LogDestinationProperty(
                        cloud_watch_logs_log_group=_Machine.CloudWatchLogsLogGroupProperty(
                            log_group_arn=self.log_group.attr_arn
                        )
                    )
                ],
            ),
            tracing_configuration=_Machine.TracingConfigurationProperty(enabled=True),
        )
        """The L1 beneath."""
        self.machine.node.add_dependency(role)

    @property
    def arn(self) -> str:
        """The machine's ARN, a token."""
        return self.machine.attr_arn
