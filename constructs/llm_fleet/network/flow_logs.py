"""Records which connections a VPC saw."""

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk.interfaces.aws_kms import IKeyRef
from constructs import Construct

_SERVICE = "vpc-flow-logs.amazonaws.com"


class FlowLogs(Construct):
    """Flow logs of a VPC in a CloudWatch log group. The log group is retained: it outlives what it bears witness to."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc_id: str,
        retention_days: int,
        encryption_key: IKeyRef | None,
        name: str,
    ) -> None:
        """Log accepted and rejected traffic of `vpc_id`.

        - `retention_days`: how long CloudWatch keeps it.
        - `encryption_key`: its policy must let CloudWatch Logs use it. `None`: CloudWatch Logs' own encryption.
        - `name`: what Name tags begin with.
        """
        super().__init__(scope, id)
        self.log_group = logs.CfnLogGroup(
            self,
            "LogGroup",
            retention_in_days=retention_days,
            kms_key_id=encryption_key,
        )
        self.log_group.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        if not encryption_key:
            cdk.Validations.of(self.log_group).acknowledge(
                cdk.Acknowledgment(
                    id="NIST.800.53.R5-CloudWatchLogGroupEncrypted",
                    reason="CloudWatch Logs encrypts every log group with a key of its own. Flow logs hold addresses "
                    "and byte counts, no payload; give encryption_key where a key of yours is asked for.",
                )
            )
        self.role = iam.CfnRole(
            self,
            "Role",
            description="Lets VPC flow logs write into their log group",
            assume_role_policy_document=self._trust(),
        )
        # A policy of its own, managed, so that it is listed and can be audited like any other.
        self.policy = iam.CfnManagedPolicy(
            self,
            "Policy",
            description="VPC flow logs: write into their log group",
            roles=[self.role.ref],
            policy_document=self._permissions(),
        )
        self.flow_log = ec2.CfnFlowLog(
            self,
            "Resource",
            resource_id=vpc_id,
            resource_type="VPC",
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_group_name=self.log_group.ref,
            deliver_logs_permission_arn=self.role.attr_arn,
            tags=[cdk.CfnTag(key="Name", value=f"{name}/flow-logs")],
        )
        # The role alone is not enough: without its policy the first records are lost.
        self.flow_log.add_resource_dependency(self.policy)

    def _trust(self) -> dict[str, Any]:
        """Only flow logs of this account may take the role: another account's could not be led to it."""
        stack = cdk.Stack.of(self)
        return {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Principal": {"Service": _SERVICE},
                    "Action": "sts:AssumeRole",
                    "Condition": {
                        "StringEquals": {"aws:SourceAccount": stack.account},
                        "ArnLike": {
                            "aws:SourceArn": f"arn:{stack.partition}:ec2:{stack.region}:{stack.account}:vpc-flow-log/*"
                        },
                    },
                }
            ],
        }

    def _permissions(self) -> dict[str, Any]:
        return {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "WriteFlowRecords",
                    "Effect": "Allow",
                    "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                    # The attribute ends in `:*`: all streams of the group, whose names the service makes up.
                    "Resource": self.log_group.attr_arn,
                }
            ],
        }
