"""The services that the watch talks to."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

_CONFIG = Config(connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 5, "mode": "standard"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """One client a service."""

    sagemaker: "SageMakerClient"
    cloudwatch: "CloudWatchClient"
    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    sns: "SNSClient"
    sqs: "SQSClient"

    @classmethod
    def make(cls) -> "Clients":
        """Return clients of the function's own region and role."""
        return cls(
            sagemaker=boto3.client("sagemaker", config=_CONFIG),
            cloudwatch=boto3.client("cloudwatch", config=_CONFIG),
            dynamodb=boto3.client("dynamodb", config=_CONFIG),
            s3=boto3.client("s3", config=_CONFIG),
            sns=boto3.client("sns", config=_CONFIG),
            sqs=boto3.client("sqs", config=_CONFIG),
        )
