"""Adds or replaces an operation of one of moto's JSON services; input is checked against botocore's model first.

Source: emulation, input is checked by botocore's model of each operation
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import botocore.session
from moto.core.exceptions import JsonRESTError

from llm_fleet_local.aws.resources.shapes import model_problems

Handler = Callable[[Any, dict[str, Any]], dict[str, Any]]


class Rejected(JsonRESTError):
    """The service rejects the request, with one of its error codes."""

    def __init__(self, code: str, message: str) -> None:
        """Set the service's error code and the message."""
        super().__init__(code, message)


def install_operation(responses: type, service: str, operation: str, handler: Handler, *, invalid: str) -> None:
    """Serve an operation with `handler(response, params)`, which returns the output as JSON types (times in seconds).

    `invalid` is the service's error code for input that its model does not allow.
    """

    def method(self: Any) -> str:
        params: dict[str, Any] = json.loads(self.body or "{}")
        problems = model_problems(_input_shape(service, operation), params)
        if problems:
            raise Rejected(invalid, "; ".join(problems))
        return json.dumps(handler(self, params))

    setattr(responses, _method_name(operation), method)


def known_members(service: str, shape: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return the members of `value` that a shape of the service has."""
    members = _model(service).shape_for(shape).members
    return {name: member for name, member in value.items() if name in members and member is not None}


@cache
def _model(service: str) -> Any:
    session: Any = botocore.session.Session()
    return session.get_service_model(service)


def _input_shape(service: str, operation: str) -> Any:
    return _model(service).operation_model(operation).input_shape


def _method_name(operation: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).lstrip("_")
