"""Clients of AWS services, errors of AWS calls, and templates of deployed stacks."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, cast

from llm_fleet.cli.verb import is_of_aws, refuse
from llm_fleet.rules.codes import Code
from llm_fleet.rules.feature_codes import CommandCode
from llm_fleet.rules.problem import AnyCode, FleetError, Problem

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ecs import ECSClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_service_quotas import ServiceQuotasClient
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_sts import STSClient


class AwsRefusal(FleetError):
    """A call to AWS failed; `code` says why. The exit code is 3, not 1: the result is unknown."""

    def __str__(self) -> str:
        call = f" ({self.subject})" if self.subject else ""
        return "\n\n".join([f"a call to AWS failed{call}:", *map(str, self.problems)])

    @property
    def code(self) -> AnyCode:
        """Code of the first problem."""
        return self.problems[0].code


class AwsGone(AwsRefusal):
    """The resource does not exist (LF1008), which is often a valid result."""


@contextmanager
def aws_errors_reported(subject: str) -> Generator[None]:
    """Re-raise errors of AWS or boto3 as `AwsRefusal` (LF1000 to LF1009) about `subject`."""
    try:
        yield
    except Exception as error:
        problem = refusal(error)
        if problem is None:
            raise
        kind = AwsGone if problem.code is CommandCode.GONE else AwsRefusal
        raise kind([problem], subject=subject) from error


def refusal(error: Exception) -> Problem | None:
    """Return the problem for an error of AWS or boto3, else `None`. Compares names: boto3 may not be installed."""
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] in ("boto3", "botocore"):
        return _problem(CommandCode.NO_BOTO3, "this command calls AWS, and boto3 is not installed")
    if type(error).__module__.partition(".")[0] not in ("botocore", "boto3"):
        return None
    response = cast("dict[str, Any]", getattr(error, "response", None) or {})
    name = str(response.get("Error", {}).get("Code", type(error).__name__))
    code = _code(name, str(error))
    return _problem(code, f"{_CALL[code]}: {' '.join(str(error).split())}", action=_action(str(error)))


def _code(name: str, text: str) -> CommandCode:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if "does not exist" in text or "NotFound" in name:
        return CommandCode.GONE
    return CommandCode.DENIED if "not authorized to perform" in text else CommandCode.REFUSED


def _action(text: str) -> str:
    found = re.search(r"not authorized to perform:? ([a-z0-9-]+:[A-Za-z]+)", text)
    return found[1] if found else "the call"


def _problem(code: CommandCode, message: str, *, action: str = "") -> Problem:
    return Problem(code=code, message=message, remedy=_REMEDIES[code].format(action=action))


_NAMES = {
    CommandCode.NO_CREDENTIALS: "NoCredentialsError PartialCredentialsError CredentialRetrievalError ProfileNotFound "
    "SSOTokenLoadError TokenRetrievalError MissingAuthenticationToken MissingAuthenticationTokenException "
    "NoAuthTokenError LoginRequiredError",
    CommandCode.EXPIRED: "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired "
    "UnauthorizedSSOTokenError LoginTokenLoadError LoginRefreshRequired",
    CommandCode.INVALID_CREDENTIALS: "InvalidClientTokenId UnrecognizedClientException AuthFailure "
    "SignatureDoesNotMatch InvalidSignatureException InvalidAccessKeyId IncompleteSignature NotAuthorized",
    CommandCode.DENIED: "AccessDenied AccessDeniedException UnauthorizedOperation AuthorizationError "
    "AuthorizationErrorException UnauthorizedException 403",
    CommandCode.THROTTLED: "Throttling ThrottlingException ThrottledException TooManyRequestsException "
    "RequestLimitExceeded SlowDown RequestThrottled RequestThrottledException BandwidthLimitExceeded "
    "PriorRequestNotComplete 429",
    CommandCode.UNREACHABLE: "EndpointConnectionError ConnectTimeoutError ReadTimeoutError ConnectionClosedError "
    "ProxyConnectionError SSLError HTTPClientError ConnectionError ServiceUnavailable InternalFailure InternalError "
    "InternalServerError InternalServerException ServiceUnavailableException 500 502 503 504",
    CommandCode.REGION: "NoRegionError InvalidRegionError OptInRequired OptInRequiredException UnknownEndpointError "
    "UnknownRegionError RegionDisabledException",
    CommandCode.GONE: "ResourceNotFound ResourceNotFoundException NoSuchEntity NoSuchBucket NoSuchKey 404 "
    "ClusterNotFoundException ServiceNotFoundException NotFoundException",
}
_BY_NAME = {name: code for code, names in _NAMES.items() for name in names.split()}
_CALL = {
    CommandCode.NO_CREDENTIALS: "no AWS credentials",
    CommandCode.EXPIRED: "the AWS credentials have expired",
    CommandCode.INVALID_CREDENTIALS: "the AWS credentials are invalid",
    CommandCode.DENIED: "the AWS credentials do not allow this call",
    CommandCode.THROTTLED: "AWS throttled the call and its retries",
    CommandCode.UNREACHABLE: "AWS does not respond",
    CommandCode.REGION: "the AWS Region is missing, unknown or not enabled",
    CommandCode.GONE: "the resource does not exist",
    CommandCode.REFUSED: "AWS rejects the call",
}
_REMEDIES = {
    CommandCode.NO_BOTO3: "run `pip install 'llm-fleet[aws]'`, or `pip install boto3`",
    CommandCode.NO_CREDENTIALS: "run `aws configure sso` or `aws login`, or set AWS_PROFILE; `aws sts "
    "get-caller-identity` shows the identity that is used",
    CommandCode.EXPIRED: "run `aws sso login` or `aws login`, or get new credentials from their source",
    CommandCode.INVALID_CREDENTIALS: "check AWS_PROFILE or AWS_ACCESS_KEY_ID, the clock of this machine, and that the "
    "Region is enabled in your account",
    CommandCode.DENIED: "allow {action} in your IAM policy; ViewOnlyAccess allows most of these calls",
    CommandCode.THROTTLED: "try again in a minute, or set AWS_MAX_ATTEMPTS=10",
    CommandCode.UNREACHABLE: "check that this machine can connect to the internet or the VPC endpoints, and the name "
    "of the Region; health.aws.amazon.com shows outages of AWS",
    CommandCode.REGION: "set the Region with --region or in the fleet file, e.g. `us-west-2`; enable an opt-in Region "
    "in the account's settings",
    CommandCode.GONE: "check that it is deployed in this Region and account, and was not deleted",
    CommandCode.REFUSED: "read the message of AWS; check the fleet file, the Region and the account",
}
_ATTEMPTS = 6
"""HyperPod allows few calls per second; boto3's default of three attempts ends within two seconds."""


class AwsClients:
    """Clients in one Region, created on first use. Endpoints and credentials are those of boto3's settings."""

    def __init__(self, *, region: str | None) -> None:
        """`region`: `None` for that of the AWS settings. Raises `AwsRefusal` if a client cannot be created."""
        self._region = region
        self._made: dict[str, Any] = {}

    @property
    def region(self) -> str:
        """The AWS Region."""
        return cast(str, self.client("sts").meta.region_name)

    def client(self, service: str) -> Any:
        """Return the client of `service`, by boto3's name."""
        if service not in self._made:
            with aws_errors_reported(service):
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
        """The caller's identity."""
        return self.client("sts")


_NO_STACK = '{"Resources": {}}\n'


def stack_template(name: str, *, region: str | None, none_yet_ok: bool) -> str:
    """Return the deployed template of the stack `name`. Raises `FleetError` (LF680) if the stack does not exist.

    With `none_yet_ok` the template of a stack that does not exist is empty, for CI before the first deployment. Other
    errors, e.g. of credentials, are still raised.
    """
    client = _stack_client(region)
    try:
        body: object = client.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    except Exception as error:
        if not is_of_aws(error):
            raise
        if none_yet_ok and "does not exist" in str(error):
            return _NO_STACK
        _refuse_template(name, str(error), "check the stack name, the Region and your credentials")
    return body if isinstance(body, str) else json.dumps(body, indent=1) + "\n"


def _stack_client(region: str | None) -> CloudFormationClient:
    try:
        import boto3
    except ImportError:
        _refuse_template(
            "boto3", "boto3 is not installed", "run `pip install 'llm-fleet[mirror]'`, or `pip install boto3`"
        )
    try:
        return boto3.client("cloudformation", region_name=region)
    except Exception as error:
        if not is_of_aws(error):
            raise
        _refuse_template("CloudFormation", str(error), "set the Region with --region")


def _refuse_template(subject: str, reason: str, remedy: str) -> NoReturn:
    message = f"cannot get the template: {reason}"
    refuse(Code.PC_DEPLOYED_UNREADABLE, message, remedy, subject=subject)
