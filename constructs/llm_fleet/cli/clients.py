"""Clients of AWS's services, what AWS's refusals mean, and templates of deployed stacks."""

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
    """AWS could not be asked; `code` says why. The command ends with 3, not with 1: nobody knows what is wrong."""

    @property
    def code(self) -> AnyCode:
        """Why, of the first problem."""
        return self.problems[0].code


class AwsGone(AwsRefusal):
    """What was asked for is not there (LF1008): often an answer, and no failure."""


@contextmanager
def aws_errors_reported(subject: str) -> Generator[None]:
    """Raise what AWS or boto3 refuses as `AwsRefusal` (LF1000 to LF1009) about `subject`."""
    try:
        yield
    except Exception as error:
        problem = refusal(error)
        if problem is None:
            raise
        kind = AwsGone if problem.code is CommandCode.GONE else AwsRefusal
        raise kind([problem], subject=subject) from error


def refusal(error: Exception) -> Problem | None:
    """Return what `error` says if it is of AWS or of boto3, else `None`. Known by name: boto3 may not be installed."""
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] in ("boto3", "botocore"):
        return _problem(CommandCode.NO_BOTO3, "this asks AWS, and boto3 is not installed")
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
    CommandCode.NO_CREDENTIALS: "there are no credentials to ask AWS with",
    CommandCode.EXPIRED: "your credentials have expired",
    CommandCode.INVALID_CREDENTIALS: "AWS does not know these credentials",
    CommandCode.DENIED: "your credentials may not make this call",
    CommandCode.THROTTLED: "AWS turned the call away as one too many, also after waiting",
    CommandCode.UNREACHABLE: "AWS does not answer",
    CommandCode.REGION: "the region cannot be asked",
    CommandCode.GONE: "it is not there",
    CommandCode.REFUSED: "AWS refuses",
}
_REMEDIES = {
    CommandCode.NO_BOTO3: "run `pip install 'llm-fleet[aws]'`, or `pip install boto3`",
    CommandCode.NO_CREDENTIALS: "run `aws configure sso` or `aws login`, or set AWS_PROFILE; `aws sts "
    "get-caller-identity` tells who you are",
    CommandCode.EXPIRED: "run `aws sso login` or `aws login`, or get new ones from where these came from",
    CommandCode.INVALID_CREDENTIALS: "see that AWS_PROFILE or the AWS_ACCESS_KEY_ID is the right one, that the clock "
    "of this machine is right, and that the region is enabled in your account",
    CommandCode.DENIED: "ask for {action} in your IAM policy; read-only ones such as ViewOnlyAccess have most",
    CommandCode.THROTTLED: "try again in a minute; AWS_MAX_ATTEMPTS=10 waits longer",
    CommandCode.UNREACHABLE: "see that this machine reaches the internet or the VPC's endpoints, and that the region's "
    "name is right; health.aws.amazon.com tells of trouble at AWS",
    CommandCode.REGION: "name the region with --region or in the fleet file, as in us-west-2; an opt-in region is "
    "enabled in the account's settings",
    CommandCode.GONE: "see that it was deployed, in this region and account, and not deleted since",
    CommandCode.REFUSED: "what AWS says tells why; see that the fleet file, the region and the account are those that "
    "you mean",
}
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
        """Who asks."""
        return self.client("sts")


_NO_STACK = '{"Resources": {}}\n'


def stack_template(name: str, *, region: str | None, none_yet_ok: bool) -> str:
    """Return the template that the stack `name` was deployed with; raise `FleetError` (LF680) where there is none.

    With `none_yet_ok` a stack that does not exist has an empty template, so that CI can ask before the first
    deployment, too. Other refusals, e.g. of credentials, are told all the same.
    """
    client = _stack_client(region)
    try:
        body: object = client.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    except Exception as error:
        if not is_of_aws(error):
            raise
        if none_yet_ok and "does not exist" in str(error):
            return _NO_STACK
        _refuse_template(name, str(error), "see that the name, the region and your credentials are right")
    return body if isinstance(body, str) else json.dumps(body, indent=1) + "\n"


def _stack_client(region: str | None) -> CloudFormationClient:
    try:
        import boto3
    except ImportError:
        _refuse_template(
            "boto3", "it is not installed", "run `pip install 'llm-fleet[mirror]'`, or `pip install boto3`"
        )
    try:
        return boto3.client("cloudformation", region_name=region)
    except Exception as error:
        if not is_of_aws(error):
            raise
        _refuse_template("CloudFormation", str(error), "name the region with --region")


def _refuse_template(subject: str, reason: str, remedy: str) -> NoReturn:
    message = f"the template cannot be had: {reason}"
    refuse(Code.PC_DEPLOYED_UNREADABLE, message, remedy, subject=subject)
