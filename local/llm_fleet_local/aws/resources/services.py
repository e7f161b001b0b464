"""The APIs of the emulated services, with strict validation of the input against botocore's model.

Source: emulation, botocore's model checks each call
"""

import re
import threading
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from llm_fleet_local.aws.execution_roles import require_call
from llm_fleet_local.aws.resource_provider import ResourceFailed
from llm_fleet_local.aws.resources.shapes import model_problems

_GONE = re.compile(
    r"NotFound|NoSuch|NotExist|Non[Ee]xistent|Not_Found|^404$|InvalidRouteTableId|InvalidNetworkInterfaceID"
)

_SAGEMAKER_GONE = re.compile(r"Could not find|Requested resource not found|RecordNotFound")
"""SageMaker returns `ValidationException` for an unknown name; only its text distinguishes this case."""

_gone_is_an_error = False

_THERE = re.compile(r"Duplicate|AlreadyExists|AlreadyAssociated")


def let_sagemaker_fail_for_what_is_gone(wanted: bool) -> None:
    """Treat an unknown name at SageMaker as an error from now on, or (False) as a deleted resource: both are possible.

    Source: assumption sagemaker-endpoint-deleted-beneath-its-stack
    """
    global _gone_is_an_error
    _gone_is_an_error = wanted


class Gone(ResourceFailed):
    """The service has no such resource."""


class AlreadyThere(ResourceFailed):
    """The resource exists already."""


class Services:
    """Clients of all services at one endpoint, and calls with strict validation."""

    def __init__(self, endpoint_url: str, access_key: str = "testing", secret_key: str = "testing") -> None:  # noqa: S107 — the AWS emulator's public dummy
        """Call the services that listen at `endpoint_url`."""
        self.endpoint_url = endpoint_url
        self._session = boto3.session.Session(aws_access_key_id=access_key, aws_secret_access_key=secret_key)
        self._clients: dict[tuple[str, str], Any] = {}
        self._making = threading.Lock()  # creating clients from a boto3 session is not thread-safe

    def client(self, service: str, region: str) -> Any:
        """Return the boto3 client of a service."""
        with self._making:
            if (service, region) not in self._clients:
                self._clients[service, region] = self._make_client(service, region)
            return self._clients[service, region]

    def input_shape(self, service: str, operation: str) -> Any:
        """Return botocore's model of an operation's input."""
        return self.client(service, "us-east-1").meta.service_model.operation_model(operation).input_shape

    def output_shape(self, service: str, operation: str) -> Any:
        """Return botocore's model of an operation's output."""
        return self.client(service, "us-east-1").meta.service_model.operation_model(operation).output_shape

    def call(self, service: str, region: str, operation: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Call an operation; raises `Gone`, `AlreadyThere` or `ResourceFailed` with the service's message."""
        problems = model_problems(self.input_shape(service, operation), params)
        if problems:
            raise ResourceFailed(f"{service} {operation}: {'; '.join(problems)}")
        client = self.client(service, region)
        require_call(client.meta.service_model.operation_model(operation), region, params)
        method = next(name for name, found in client.meta.method_to_api_mapping.items() if found == operation)
        try:
            return getattr(client, method)(**params)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            text = f"{service} {operation}: {code}: {error.response.get('Error', {}).get('Message', '')}"
            gone = _GONE.search(code) or (
                service == "sagemaker" and not _gone_is_an_error and _SAGEMAKER_GONE.search(text)
            )
            kind = Gone if gone else AlreadyThere if _THERE.search(code) else ResourceFailed
            raise kind(text) from error
        except BotoCoreError as error:
            raise ResourceFailed(f"{service} {operation}: {error}") from error

    def _make_client(self, service: str, region: str) -> Any:
        settings = Config(
            retries={"max_attempts": 1},
            s3={"addressing_style": "path"},
            max_pool_connections=20,
            user_agent="local-aws",  # building the default one takes a tenth of each call
        )
        return self._session.client(  # pyright: ignore[reportUnknownMemberType, reportCallIssue]
            service,  # pyright: ignore[reportArgumentType]
            region_name=region,
            endpoint_url=self.endpoint_url,
            config=settings,
        )
