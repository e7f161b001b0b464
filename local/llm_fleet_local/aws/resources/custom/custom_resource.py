"""`AWS::CloudFormation::CustomResource` and `Custom::*`: the function in the template is run."""

import uuid
from collections.abc import Mapping
from typing import Any, NoReturn, cast

from llm_fleet_local.aws.functions.function_process import FunctionProcess, Run
from llm_fleet_local.aws.resource_provider import Created, Level, NothingChanged, Request, ResourceFailed
from llm_fleet_local.aws.resources.custom.response_url import ResponseUrl
from llm_fleet_local.aws.resources.services import Services
from llm_fleet_local.aws.resources.strings import as_strings

_PLAIN = "AWS::CloudFormation::CustomResource"
_FOR_CLOUDFORMATION = ("ServiceTimeout",)
_LATE_ANSWER_SECONDS = 0.5
"""Seconds to wait for a response after the process has ended; the PUT request itself ends before."""


_ECHOED = ("StackId", "RequestId", "LogicalResourceId")
"""Members of the request that a response must repeat."""


class CreationFailed(ResourceFailed):
    """The creation failed; CloudFormation sends a delete request for `physical_id`."""

    def __init__(self, why: str, physical_id: str) -> None:
        """Keep both."""
        super().__init__(why)
        self.physical_id = physical_id


def is_custom(resource_type: str) -> bool:
    """Return whether a type is a custom resource."""
    return resource_type == _PLAIN or resource_type.startswith("Custom::")


class CustomResource:
    """Creates, updates and deletes custom resources by running their functions."""

    def __init__(self, services: Services) -> None:
        """Run functions with the services at one endpoint."""
        self._function = FunctionProcess(services)

    def create(self, request: Request) -> Created:
        """Run the function with `Create`, and with `Delete` if that fails, as CloudFormation's rollback does.

        Source: recorded belodetek/cfn-generic-custom-resource#3, deletion after a failed creation (2019-02-27)
        """
        try:
            return self._invoke(request, "Create", {})
        except CreationFailed as failure:
            raise ResourceFailed(f"{failure}{self._undone(request, failure.physical_id)}") from failure

    def update(self, request: Request) -> Created:
        """Run the function with `Update`; after another physical id in the response, the old one must be deleted."""
        before = dict(request.old_properties or {})
        if before.get("ServiceToken") != request.properties.get("ServiceToken"):
            # Source: recorded cloudcomponents/cdk-constructs#197, text of the error (2023-03-16)
            raise NothingChanged("Modifying service token is not allowed.")
        old = as_strings(before)
        return self._invoke(
            request, "Update", {"PhysicalResourceId": request.physical_id, "OldResourceProperties": old}
        )

    def delete(self, request: Request) -> None:
        """Run the function with `Delete`."""
        self._invoke(request, "Delete", {"PhysicalResourceId": request.physical_id})

    def exists(self, physical_id: str, region: str, account: str) -> bool:
        """Return True: only the function defines what the resource is."""
        return True

    def _undone(self, request: Request, physical_id: str) -> str:
        try:
            self._invoke(request, "Delete", {"PhysicalResourceId": physical_id})
        except ResourceFailed as failure:
            return f"\nits deletion also failed: {failure}"
        return ""

    def _invoke(self, request: Request, kind: str, more: Mapping[str, Any]) -> Created:
        token = request.properties.get("ServiceToken")
        if not isinstance(token, str) or ":function:" not in token:
            # Source: emulation, only functions are supported, not SNS topics
            raise ResourceFailed(f"ServiceToken must be the ARN of a Lambda function, not {token!r}")
        requested = {name: value for name, value in request.properties.items() if name not in _FOR_CLOUDFORMATION}
        with ResponseUrl() as response:
            event = {
                "RequestType": kind,
                "ResponseURL": response.url,
                "StackId": request.stack_id,
                "RequestId": str(uuid.uuid4()),
                "ResourceType": request.resource_type,
                "LogicalResourceId": request.logical_id,
                "ServiceToken": token,
                "ResourceProperties": as_strings(requested),
                **more,
            }
            run = self._function.invoke(token, event, request.region, request.account)
            try:
                answer = response.answer(_LATE_ANSWER_SECONDS)
            except ValueError as error:
                # Source: document
                # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html (2026-11)
                raise ResourceFailed(_with_log(str(error), run)) from error
        return _created(request, kind, _accepted(answer, event, run))


def _accepted(answer: dict[str, Any] | None, event: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """Return a successful response; raise an exception for any other.

    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html: of StackId,
    RequestId and LogicalResourceId, "this response value should be copied verbatim from the request"
    Source: emulation, there is no wait after a function that ended without a response
    """
    if answer is None:
        ending = "reached its timeout" if run.timed_out else "returned" if run.ended_well else "raised"
        _fail(event, f"the function {ending} without a response (AWS would wait for an hour)", run)
    for name in _ECHOED:
        if answer.get(name) != event[name]:
            _fail(event, f"Invalid response: {name} must be the same as in the request, not {answer.get(name)!r}", run)
    if answer.get("Status") != "SUCCESS":
        why = f"Received response status [FAILED] from custom resource. {answer.get('Reason', '')}"
        _fail(event, why, run, str(answer.get("PhysicalResourceId") or ""))
    return answer


def _fail(event: Mapping[str, Any], why: str, run: Run, physical_id: str = "") -> NoReturn:
    """Raise the failure; for a creation, with the id for the delete request.

    Source: recorded belodetek/cfn-generic-custom-resource#3, the deletion request has the answer's id (2019-02-27)
    Source: emulation, a response without an id gets an id from the emulator
    """
    if event["RequestType"] == "Create":
        raise CreationFailed(_with_log(why, run), physical_id or f"{event['LogicalResourceId']}-{uuid.uuid4()}")
    raise ResourceFailed(_with_log(why, run))


def _created(request: Request, kind: str, answer: dict[str, Any]) -> Created:
    physical_id = answer.get("PhysicalResourceId") or (request.physical_id if kind == "Delete" else None)
    if not isinstance(physical_id, str):
        # Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html
        # (2026-11)
        raise ResourceFailed("Invalid PhysicalResourceId: missing in the function's response")
    data = cast(dict[str, Any], answer.get("Data") or {})
    return Created(physical_id=physical_id, attributes=data, level=Level.LAMBDA)


def _with_log(text: str, run: Run) -> str:
    return f"{text}\nlog of the function:\n{run.log}" if run.log else text
