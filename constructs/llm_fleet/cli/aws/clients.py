"""The clients that the command asks AWS with."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from llm_fleet.cli.aws.refusals import told_of_aws

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ecs import ECSClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_service_quotas import ServiceQuotasClient
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_sts import STSClient

_ATTEMPTS = 6
"""HyperPod's calls allow few a second; boto3's three attempts are over within two."""


class AwsClients:
    """Clients of one region, each made when it is first used. Where AWS is, and who asks, are boto3's own settings."""

    def __init__(self, *, region: str | None) -> None:
        """Ask in `region`; `None` is that of the AWS settings. Raises `AwsRefusal` when a client cannot be made."""
        self._region = region
        self._made: dict[str, Any] = {}

    @property
    def region(self) -> str:
        """Where is asked."""
        return cast(str, self.client("sts").meta.region_name)

    def client(self, service: str) -> Any:
        """Return the client of `service`, by boto3's name."""
        if service not in self._made:
            with told_of_aws(service):
                import boto3
                from botocore.config import Config

                attempts: dict[str, Any] = {"mode": "standard"}
                if "AWS_MAX_ATTEMPTS" not in os.environ:
                    attempts["total_max_attempts"] = _ATTEMPTS
                config = Config(retries=cast(Any, attempts), connect_timeout=5, read_timeout=30)
                self._made[service] = boto3.client(cast(Any, service), region_name=self._region, config=config)
        return self._made[service]

    @cached_property
    def cloudformation(self) -> CloudFormationClient:
        """Stacks."""
        return self.client("cloudformation")

    @cached_property
    def ec2(self) -> EC2Client:
        """Instances and networks."""
        return self.client("ec2")

    @cached_property
    def ecs(self) -> ECSClient:
        """Inference services."""
        return self.client("ecs")

    @cached_property
    def logs(self) -> CloudWatchLogsClient:
        """CloudWatch Logs."""
        return self.client("logs")

    @cached_property
    def sagemaker(self) -> SageMakerClient:
        """HyperPod clusters and training plans."""
        return self.client("sagemaker")

    @cached_property
    def quotas(self) -> ServiceQuotasClient:
        """Service Quotas."""
        return self.client("service-quotas")

    @cached_property
    def ssm(self) -> SSMClient:
        """Session Manager and parameters."""
        return self.client("ssm")

    @cached_property
    def sts(self) -> STSClient:
        """Who asks."""
        return self.client("sts")
