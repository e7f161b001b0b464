"""Calls fail with errors of AWS, in the protocol of each service, as often as requested."""

from collections.abc import Generator
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError

from llm_fleet.cli.clients import refusal
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet_local.aws.client import LocalAws


@pytest.fixture(scope="module")
def aws() -> Generator[LocalAws]:
    with LocalAws() as started:
        yield started


CALLS = {
    "sagemaker": ("list_clusters", "ListClusters"),
    "ec2": ("describe_vpcs", "DescribeVpcs"),
    "sts": ("get_caller_identity", "GetCallerIdentity"),
    "cloudformation": ("list_stacks", "ListStacks"),
    "cloudwatch": ("list_metrics", "ListMetrics"),
    "s3": ("list_buckets", ""),
    "logs": ("describe_log_groups", "DescribeLogGroups"),
    "service-quotas": ("list_services", ""),
}
SIGNED = {"service-quotas": "servicequotas", "cloudwatch": "monitoring"}


@pytest.mark.parametrize("service", CALLS)
def test_calls_fail_in_every_protocol(aws: LocalAws, service: str):
    method, operation = CALLS[service]
    call = getattr(aws.client(service), method)
    aws.refuse_calls("AccessDeniedException", service=SIGNED.get(service, service), operation=operation, times=1)
    with pytest.raises(ClientError) as caught:
        call()
    problem = refusal(caught.value)
    assert problem is not None
    assert problem.code is CommandCode.DENIED
    assert "is rejected in this test" in problem.message


def test_other_operations_succeed_and_failures_can_be_cancelled(aws: LocalAws):
    ec2 = aws.client("ec2")
    aws.refuse_calls("ExpiredTokenException", service="ec2", operation="DescribeSubnets")
    ec2.describe_vpcs()
    with pytest.raises(ClientError, match="ExpiredTokenException"):
        ec2.describe_subnets()
    aws.refuse_calls("ExpiredTokenException", times=0)
    ec2.describe_subnets()


def test_calls_fail_the_requested_number_of_times(aws: LocalAws):
    sagemaker = aws.client("sagemaker")
    aws.refuse_calls("ThrottlingException", service="sagemaker", operation="ListClusters", times=1)
    with pytest.raises(ClientError, match="ThrottlingException"):
        sagemaker.list_clusters()
    sagemaker.list_clusters()


def test_operations_that_moto_lacks_are_rejected_without_a_traceback(aws: LocalAws) -> None:
    request = Request(
        aws.endpoint,
        data=b"{}",
        headers={
            "X-Amz-Target": "com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101.GetInsightSelectors2",
            "Authorization": "AWS4-HMAC-SHA256 Credential=a/20261120/us-west-2/cloudtrail/aws4_request, Signature=b",
            "Content-Type": "application/x-amz-json-1.1",
        },
    )
    with pytest.raises(HTTPError) as refused:
        urlopen(request)
    assert refused.value.code == 501
    assert b"has not been implemented in the AWS emulator" in refused.value.read()
