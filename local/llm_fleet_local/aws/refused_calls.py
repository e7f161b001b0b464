"""Lets calls fail before they reach a service: a throttled account, expired credentials, a denied action."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from llm_fleet_local.aws.api.app import service_of

_XML = "text/xml"
_JSON = "application/x-amz-json-1.1"
_CBOR = "application/cbor"
_STATUS = {"AccessDeniedException": 400, "AccessDenied": 403, "UnauthorizedOperation": 403}
_BAD_REQUEST = 400


@dataclass(slots=True)
class _Failure:
    """The calls that fail, and how many more of them."""

    code: str
    message: str
    service: str
    """Its name in signatures, e.g. `sagemaker`; empty for any."""
    operation: str
    """E.g. `ListClusterNodes`; empty for any."""
    times: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The response that the caller gets instead."""

    status: int
    body: bytes
    content_type: str
    headers: tuple[tuple[str, str], ...] = ()


class RefusedCalls:
    """The calls that must fail. Thread-safe."""

    def __init__(self) -> None:
        """Let no call fail."""
        self._lock = Lock()
        self._failures: list[_Failure] = []

    def refuse(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Let calls fail: `code`, `message`, `service`, `operation`, `times` (0 cancels all failures with `code`)."""
        failure = _Failure(
            requested["code"], requested["message"], requested["service"], requested["operation"], requested["times"]
        )
        with self._lock:
            if failure.times:
                self._failures.append(failure)
            else:
                self._failures = [one for one in self._failures if one.code != failure.code]
        return {}

    @property
    def any(self) -> bool:
        """Whether any call must fail; if not, requests need not be parsed."""
        return bool(self._failures)

    def answer(self, environ: Mapping[str, Any], body: str) -> Answer | None:
        """Return the error response to this request; `None` lets it pass."""
        signed = service_of(environ.get("HTTP_AUTHORIZATION", ""))
        service, operation = signed[0] if signed else "", _operation(environ, body)
        with self._lock:
            for failure in self._failures:
                if failure.service in ("", service) and failure.operation in ("", operation):
                    failure.times -= 1
                    if not failure.times:
                        self._failures.remove(failure)
                    return _answer(failure, service, operation, environ)
        return None


def _operation(environ: Mapping[str, Any], body: str) -> str:
    """Return the name of the operation; empty if only method and path identify it (REST)."""
    target: str = environ.get("HTTP_X_AMZ_TARGET", "")
    if target:
        return target.rpartition(".")[2]
    in_path = re.search(r"/operation/(\w+)$", environ.get("PATH_INFO", ""))
    return in_path[1] if in_path else parse_qs(body).get("Action", [""])[0]


def _answer(failure: _Failure, service: str, operation: str, environ: Mapping[str, Any]) -> Answer:
    status = _STATUS.get(failure.code, _BAD_REQUEST)
    message = failure.message or f"{service}:{operation} is rejected in this test"
    if environ.get("HTTP_SMITHY_PROTOCOL"):
        headers = (("smithy-protocol", "rpc-v2-cbor"),)
        return Answer(status, _cbor({"__type": failure.code, "message": message}), _CBOR, headers)
    if service == "ec2":
        body = f"<Response><Errors><Error>{_xml(failure.code, message)}</Error></Errors></Response>"
        return Answer(status, body.encode(), _XML)
    if service == "s3":
        return Answer(status, f"<Error>{_xml(failure.code, message)}</Error>".encode(), _XML)
    if str(environ.get("CONTENT_TYPE", "")).startswith("application/x-www-form-urlencoded"):
        body = f"<ErrorResponse><Error><Type>Sender</Type>{_xml(failure.code, message)}</Error></ErrorResponse>"
        return Answer(status, body.encode(), _XML)
    body = json.dumps({"__type": failure.code, "message": message})
    return Answer(status, body.encode(), _JSON, (("x-amzn-errortype", failure.code),))


def _xml(code: str, message: str) -> str:
    return f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"


def _cbor(texts: Mapping[str, str]) -> bytes:
    """Return a map of fewer than 24 texts in CBOR (RFC 8949)."""
    return bytes([0xA0 + len(texts)]) + b"".join(_cbor_text(part) for pair in texts.items() for part in pair)


def _cbor_text(text: str) -> bytes:
    raw = text.encode()
    return b"\x79" + len(raw).to_bytes(2, "big") + raw
