"""Errors of AWS calls are reported with a code and a remedy."""

import pytest
from botocore import exceptions
from botocore.exceptions import ClientError

from llm_fleet.cli.clients import AwsRefusal, aws_errors_reported, refusal
from llm_fleet.rules.feature_codes import CommandCode


def refused(code: str, message: str = "it said so") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "DescribeCluster")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (exceptions.NoCredentialsError(), CommandCode.NO_CREDENTIALS),
        (exceptions.ProfileNotFound(profile="x"), CommandCode.NO_CREDENTIALS),
        (exceptions.UnauthorizedSSOTokenError(), CommandCode.EXPIRED),
        (refused("ExpiredTokenException"), CommandCode.EXPIRED),
        (refused("InvalidClientTokenId"), CommandCode.INVALID_CREDENTIALS),
        (refused("AccessDeniedException"), CommandCode.DENIED),
        (refused("UnauthorizedOperation"), CommandCode.DENIED),
        (refused("Strange", "User: x is not authorized to perform: sagemaker:DescribeCluster"), CommandCode.DENIED),
        (refused("ThrottlingException"), CommandCode.THROTTLED),
        (exceptions.EndpointConnectionError(endpoint_url="https://x"), CommandCode.UNREACHABLE),
        (exceptions.NoRegionError(), CommandCode.REGION),
        (refused("OptInRequired"), CommandCode.REGION),
        (refused("ResourceNotFound"), CommandCode.GONE),
        (refused("InvalidVpcID.NotFound"), CommandCode.GONE),
        (refused("ServiceNotFoundException"), CommandCode.GONE),
        (refused("ValidationError", "Stack with id x does not exist"), CommandCode.GONE),
        (refused("ValidationException"), CommandCode.REFUSED),
        (ModuleNotFoundError("No module named 'boto3'", name="boto3"), CommandCode.NO_BOTO3),
    ],
)
def test_each_error_of_aws_has_its_code_and_a_remedy(error: Exception, code: CommandCode):
    problem = refusal(error)
    assert problem is not None
    assert problem.code is code
    assert problem.remedy


def test_a_denied_call_is_named():
    error = refused("AccessDeniedException", "User: u is not authorized to perform: sagemaker:ListClusterNodes on x")
    with (
        pytest.raises(AwsRefusal, match="allow sagemaker:ListClusterNodes") as caught,
        aws_errors_reported("cluster x"),
    ):
        raise error
    assert str(caught.value).startswith("a call to AWS failed (cluster x):\n\n[LF1004]\n")
    assert "ListClusterNodes" in str(caught.value)


def test_other_exceptions_are_not_reported_as_errors_of_aws():
    assert refusal(KeyError("x")) is None
    with pytest.raises(KeyError), aws_errors_reported("cluster x"):
        raise KeyError("x")


def test_codes_of_failed_aws_calls_have_their_own_exit_code():
    assert {code for code in CommandCode if not code.is_of_aws} == {
        CommandCode.GONE,
        CommandCode.PLACE_UNKNOWN,
        CommandCode.PLACE_NEEDED,
        CommandCode.PLACE_KIND,
        CommandCode.FILE_OR_NAME,
        CommandCode.NO_LOCAL,
        CommandCode.LOCAL_FAILED,
        CommandCode.NEW_IN_THE_WAY,
    }
