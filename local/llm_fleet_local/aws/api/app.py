"""The WSGI application that answers CloudFormation's requests.

Source: emulation, operations that are not served are rejected by name
"""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from llm_fleet_local.aws.api import change_set_actions, stack_actions, template_actions
from llm_fleet_local.aws.api.protocol import (
    VERSION,
    operation_of,
    read_request,
    service_model,
    write_error,
    write_response,
)
from llm_fleet_local.aws.stacks.engine import CloudFormation
from llm_fleet_local.aws.stacks.errors import RequestRejected
from llm_fleet_local.aws.stacks.proposal import CapabilityMissing
from llm_fleet_local.aws.template.values import TemplateError

_LOG = logging.getLogger(__name__)
_SCOPE = re.compile(r"Credential=[^/]+/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/")
Action = Callable[[CloudFormation, str, Mapping[str, Any]], dict[str, Any]]

ACTIONS: Mapping[str, Action] = {
    "CreateStack": stack_actions.create_stack,
    "UpdateStack": stack_actions.update_stack,
    "DeleteStack": stack_actions.delete_stack,
    "DescribeStacks": stack_actions.describe_stacks,
    "ListStacks": stack_actions.list_stacks,
    "DescribeStackEvents": stack_actions.describe_stack_events,
    "DescribeEvents": stack_actions.describe_events,
    "DescribeStackResources": stack_actions.describe_stack_resources,
    "DescribeStackResource": stack_actions.describe_stack_resource,
    "ListStackResources": stack_actions.list_stack_resources,
    "UpdateTerminationProtection": stack_actions.update_termination_protection,
    "ListExports": stack_actions.list_exports,
    "ListImports": stack_actions.list_imports,
    "CreateChangeSet": change_set_actions.create_change_set,
    "DescribeChangeSet": change_set_actions.describe_change_set,
    "ListChangeSets": change_set_actions.list_change_sets,
    "DeleteChangeSet": change_set_actions.delete_change_set,
    "ExecuteChangeSet": change_set_actions.execute_change_set,
    "GetTemplate": template_actions.get_template,
    "GetTemplateSummary": template_actions.get_template_summary,
    "ValidateTemplate": template_actions.validate_template,
    # The CDK CLI lists hooks. No hook runs here, so none fails a change set.
    "ListHookResults": lambda engine, region, params: {"HookResults": []},
}
"""The supported operations; every other one is rejected by name."""


def service_of(authorization: str) -> tuple[str, str] | None:
    """Return service and region of a signed request; `None` for other requests."""
    match = _SCOPE.search(authorization)
    return (match["service"], match["region"]) if match else None


class CloudFormationApp:
    """Answers CloudFormation's requests. Thread-safe."""

    def __init__(self, engine: CloudFormation) -> None:
        """Serve the stacks of `engine`."""
        self._engine = engine

    def answer(self, body: str, region: str) -> tuple[int, bytes]:
        """Return the HTTP status and the XML response to a form."""
        form = dict(parse_qsl(body, keep_blank_values=True))
        try:
            operation = operation_of(form)
            if operation.name not in ACTIONS:
                raise RequestRejected("InvalidAction", f"{operation.name} is not supported by the AWS emulator")
            result = ACTIONS[operation.name](self._engine, region, read_request(form, operation))
            return 200, write_response(operation, result)
        except RequestRejected as rejected:
            return _status(rejected.code), write_error(rejected.code, str(rejected))
        except CapabilityMissing as missing:
            return 400, write_error("InsufficientCapabilitiesException", str(missing))
        except TemplateError as error:
            return 400, write_error("ValidationError", str(error))
        except Exception as error:
            _LOG.exception("request failed: %s", form.get("Action"))
            return 500, write_error("InternalFailure", f"Internal failure of the AWS emulator: {error!r}")


def is_cloudformation(environ: Mapping[str, Any], body: str) -> bool:
    """Return whether a request is for CloudFormation, by its signature or its API version."""
    signed = service_of(environ.get("HTTP_AUTHORIZATION", ""))
    if signed is not None:
        return signed[0] == "cloudformation"
    return f"Version={VERSION}" in body


def respond(
    start_response: Any,
    status: int,
    content: bytes,
    kind: str = "text/xml",
    headers: Iterable[tuple[str, str]] = (),
) -> Iterable[bytes]:
    """Send a response, with more `headers` in addition to those of every response."""
    start_response(f"{status} -", [("Content-Type", kind), ("Content-Length", str(len(content))), *headers])
    return [content]


def _status(code: str) -> int:
    for shape in service_model().error_shapes:
        error: dict[str, Any] = shape.metadata.get("error", {})
        if error.get("code") == code:
            return int(error.get("httpStatusCode", 400))
    return 400
