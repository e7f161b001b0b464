"""What is told when AWS does not answer, or not everything."""

from local.aws.client import LocalAws
from tests.cli.check.conftest import TRN1, Check


def test_a_denied_call_is_told_and_the_rest_goes_on(check: Check, aws: LocalAws):
    aws.refuse_calls("UnauthorizedOperation", service="ec2", operation="DescribeInstanceTypeOfferings")
    try:
        checked = check(TRN1)
        as_data = check(TRN1, "--json")
    finally:
        aws.refuse_calls("UnauthorizedOperation", times=0)
    assert checked.code == 3
    assert checked.out.count("ec2:DescribeInstanceTypeOfferings: these credentials may not make the call") == 2
    assert checked.out.count("remedy:  ask for ec2:DescribeInstanceTypeOfferings in your IAM policy") == 1
    assert "14 checked; 12 good, 2 not asked" in checked.out
    row = as_data.rows["ml.trn1.32xlarge in usw2-az4"]
    assert (row["verdict"], row["action"]) == ("not asked", "ec2:DescribeInstanceTypeOfferings")
    assert row["problems"][0]["code"] == "LF1004"


def test_a_problem_weighs_more_than_what_was_not_asked(check: Check, aws: LocalAws):
    aws.refuse_calls("AccessDeniedException", service="servicequotas")
    try:
        checked = check(TRN1.replace("usw2-az4", "usw2-az2"), "--json")
    finally:
        aws.refuse_calls("AccessDeniedException", times=0)
    assert checked.code == 1
    assert checked.rows["quota VPCs per Region"]["action"] == "servicequotas:ListServiceQuotas"


def test_what_others_use_need_not_be_known_where_the_quota_is_too_small_anyway(check: Check, aws: LocalAws):
    aws.refuse_calls("AccessDeniedException", service="sagemaker", operation="ListClusters")
    try:
        rows = check(TRN1.replace("count: 4", "count: 9"), "--json", "--only", "quotas").rows
    finally:
        aws.refuse_calls("AccessDeniedException", times=0)
    assert rows["quota ml.trn1.32xlarge for cluster usage"]["verdict"] == "problem"
    assert rows["quota ml.m5.xlarge for cluster usage"]["verdict"] == "not asked"
    assert rows["quota ml.m5.xlarge for cluster usage"]["action"] == "sagemaker:ListClusters"


def test_expired_credentials_are_told_once(check: Check, aws: LocalAws):
    aws.refuse_calls("ExpiredToken")
    try:
        checked = check(TRN1)
    finally:
        aws.refuse_calls("ExpiredToken", times=0)
    assert checked.code == 3
    assert checked.out == ""
    assert checked.err.count("your credentials have expired") == 1
    assert "aws sso login" in checked.err


def test_credentials_that_expire_in_the_middle_are_told_once(check: Check, aws: LocalAws):
    aws.refuse_calls("ExpiredTokenException", service="servicequotas")
    try:
        checked = check(TRN1)
    finally:
        aws.refuse_calls("ExpiredTokenException", times=0)
    assert checked.code == 3
    assert checked.err.count("your credentials have expired") == 1


def test_a_throttled_service_is_told_once_for_all_its_lines(check: Check, aws: LocalAws):
    aws.refuse_calls("TooManyRequestsException", service="servicequotas", operation="ListServiceQuotas")
    try:
        checked = check(TRN1)
    finally:
        aws.refuse_calls("TooManyRequestsException", times=0)
    assert checked.code == 3
    assert checked.out.count("servicequotas:ListServiceQuotas: AWS turned the call away as one too many") == 9
    assert checked.out.count("[LF1005]") == 1


def test_each_question_is_asked_of_aws_once(check: Check, aws: LocalAws):
    """Nine quotas of three services: three refusals are enough for all of them."""
    aws.refuse_calls("AccessDeniedException", service="servicequotas", operation="ListServiceQuotas", times=3)
    checked = check(TRN1, "--json", "--only", "quotas")
    assert [row["verdict"] for row in checked.rows.values()] == ["not asked"] * 9
