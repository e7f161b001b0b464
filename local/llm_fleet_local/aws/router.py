"""One port for all requests: CloudFormation and the AWS emulator's own are handled here, others go to moto."""

import io
import json
import logging
from collections.abc import Callable, Iterable
from typing import Any

from llm_fleet_local.aws.api.app import CloudFormationApp, is_cloudformation, respond, service_of
from llm_fleet_local.aws.price_list import PriceList
from llm_fleet_local.aws.refused_calls import RefusedCalls
from llm_fleet_local.aws.stacks.engine import CloudFormation
from llm_fleet_local.aws.stacks.stack import Stack

_LOG = logging.getLogger(__name__)
_JSON = "application/json"
_LOOK_UP_EVENTS = "CloudTrail_20131101.LookupEvents"
"""The CDK CLI queries CloudTrail after every failure; there is no trail here, so the response is empty."""
OWN_PATH = "/_local-aws/"
WsgiApp = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Router:
    """A WSGI application in front of `services` (moto's)."""

    def __init__(
        self,
        engine: CloudFormation,
        services: WsgiApp,
        *,
        default_region: str,
        invoke: Callable[[str], dict[str, Any]],
        steer: Callable[[str], dict[str, Any]],
    ) -> None:
        """Pass requests that are not for CloudFormation to `services`; unsigned ones to it are for `default_region`.

        `invoke` runs a Lambda function for a request of `LocalAws.invoke`. `steer` changes the state for a request of
        `LocalAws.move_training_job` or `shorten_waits`.
        """
        self._engine = engine
        self._invoke = invoke
        self._steer = steer
        self._refused = RefusedCalls()
        self._price_list = PriceList()
        self._cloudformation = CloudFormationApp(engine)
        self._services = services
        self._default_region = default_region

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer one request."""
        path = environ.get("PATH_INFO", "")
        if path.startswith(OWN_PATH):
            return self._own(path.removeprefix(OWN_PATH), environ, start_response)
        rejected = self._refused.answer(environ, self._read(environ)) if self._refused.any else None
        if rejected is not None:
            return respond(start_response, rejected.status, rejected.body, rejected.content_type, rejected.headers)
        if self._is_form(environ):
            body = self._read(environ)
            if is_cloudformation(environ, body):
                signed = service_of(environ.get("HTTP_AUTHORIZATION", ""))
                return respond(
                    start_response, *self._cloudformation.answer(body, signed[1] if signed else self._default_region)
                )
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        if target.endswith(_LOOK_UP_EVENTS):
            return respond(start_response, 200, b'{"Events": []}', _JSON)
        signed = service_of(environ.get("HTTP_AUTHORIZATION", ""))
        priced = self._price_list.answer(target, signed[1] if signed else "", self._read(environ)) if target else None
        if priced is not None:
            return respond(start_response, priced[0], json.dumps(priced[1]).encode(), _JSON)
        return self._call_services(environ, start_response)

    def _call_services(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Call moto; missing operations return 501, which no SDK retries, instead of a page with a traceback."""
        try:
            return self._services(environ, start_response)
        except NotImplementedError as error:
            _LOG.warning("not emulated: %s", error)
            content = json.dumps({"__type": "NotImplemented", "message": f"{error} in the AWS emulator"})
            return respond(start_response, 501, content.encode(), _JSON)

    def _own(self, name: str, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        answers: dict[str, Callable[[], Any]] = {
            "stacks": self._stacks,
            "health": lambda: {"status": "ok"},
            "invoke": lambda: self._invoke(self._read(environ)),
            "steer": lambda: self._steer(self._read(environ)),
            "refuse": lambda: self._refused.refuse(json.loads(self._read(environ))),
            "prices": lambda: self._price_list.add(json.loads(self._read(environ))),
        }
        if name not in answers:
            return respond(start_response, 404, b"{}", _JSON)
        return respond(start_response, 200, json.dumps(answers[name]()).encode(), _JSON)

    def _stacks(self) -> list[dict[str, Any]]:
        regions = {stack.region for stack in self._engine.registry.everything()}
        return [_stack(stack) for region in sorted(regions) for stack in self._engine.registry.living(region)]

    def _is_form(self, environ: dict[str, Any]) -> bool:
        kind = environ.get("CONTENT_TYPE", "")
        return environ.get("REQUEST_METHOD") == "POST" and kind.startswith("application/x-www-form-urlencoded")

    def _read(self, environ: dict[str, Any]) -> str:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        environ["wsgi.input"] = io.BytesIO(body)
        return body.decode(errors="replace")


def _stack(stack: Stack) -> dict[str, Any]:
    return {
        "name": stack.name,
        "id": stack.stack_id,
        "region": stack.region,
        "status": stack.status,
        "resources": [
            {
                "logical_id": resource.logical_id,
                "type": resource.resource_type,
                "physical_id": resource.physical_id,
                "status": resource.status,
                "level": resource.level.value,
                "notes": list(resource.notes),
            }
            for resource in list(stack.resources.values())
        ],
    }
