"""Refuses calls before they reach a service: a throttled account, expired credentials, a denied action."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from local.aws.api.app import service_of

_XML = "text/xml"
_JSON = "application/x-amz-json-1.1"
_CBOR = "application/cbor"
_STATUS = {"AccessDeniedException": 400, "AccessDenied": 403, "UnauthorizedOperation": 403}
_BAD_REQUEST = 400


@dataclass(slots=True)
class _Refusal:
    """What is refused, and how often still."""

    code: str
    message: str
    service: str
    """As it signs, e.g. `sagemaker`; empty for any."""
    operation: str
    """E.g. `ListClusterNodes`; empty for any."""
    times: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The message that the caller gets instead."""

    status: int
    body: bytes
    content_type: str
    headers: tuple[tuple[str, str], ...] = ()


class RefusedCalls:
    """The calls to refuse. Safe from several threads."""

    def __init__(self) -> None:
        """Refuse nothing yet."""
        self._lock = Lock()
        self._refusals: list[_Refusal] = []

    def refuse(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Take one wish: `code`, `message`, `service`, `operation`, `times`; 0 times takes every such wish back."""
        wish = _Refusal(
            requested["code"], requested["message"], requested["service"], requested["operation"], requested["times"]
        )
        with self._lock:
            if wish.times:
                self._refusals.append(wish)
            else:
                self._refusals = [one for one in self._refusals if one.code != wish.code]
        return {}

    @property
    def any(self) -> bool:
        """Whether there is anything to refuse; the usual request need not be looked into."""
        return bool(self._refusals)

    def answer(self, environ: Mapping[str, Any], body: str) -> Answer | None:
        """Return the refusal of this request, `None` to let it pass."""
        signed = service_of(environ.get("HTTP_AUTHORIZATION", ""))
        service, operation = signed[0] if signed else "", _operation(environ, body)
        with self._lock:
            for wish in self._refusals:
                if wish.service in ("", service) and wish.operation in ("", operation):
                    wish.times -= 1
                    if not wish.times:
                        self._refusals.remove(wish)
                    return _answer(wish, service, operation, environ)
        return None


def _operation(environ: Mapping[str, Any], body: str) -> str:
    """Return the name of the operation; empty where it shows only in method and path (REST)."""
    target: str = environ.get("HTTP_X_AMZ_TARGET", "")
    if target:
        return target.rpartition(".")[2]
    in_path = re.search(r"/operation/(\w+)$", environ.get("PATH_INFO", ""))
    return in_path[1] if in_path else parse_qs(body).get("Action", [""])[0]


def _answer(wish: _Refusal, service: str, operation: str, environ: Mapping[str, Any]) -> Answer:
    status = _STATUS.get(wish.code, _BAD_REQUEST)
    message = wish.message or f"{service}:{operation} is refused in this test"
    if environ.get("HTTP_SMITHY_PROTOCOL"):
        headers = (("smithy-protocol", "rpc-v2-cbor"),)
        return Answer(status, _cbor({"__type": wish.code, "message": message}), _CBOR, headers)
    if service == "ec2":
        body = f"<Response><Errors><Error>{_xml(wish.code, message)}</Error></Errors></Response>"
        return Answer(status, body.encode(), _XML)
    if service == "s3":
        return Answer(status, f"<Error>{_xml(wish.code, message)}</Error>".encode(), _XML)
    if str(environ.get("CONTENT_TYPE", "")).startswith("application/x-www-form-urlencoded"):
        body = f"<ErrorResponse><Error><Type>Sender</Type>{_xml(wish.code, message)}</Error></ErrorResponse>"
        return Answer(status, body.encode(), _XML)
    body = json.dumps({"__type": wish.code, "message": message})
    return Answer(status, body.encode(), _JSON, (("x-amzn-errortype", wish.code),))


def _xml(code: str, message: str) -> str:
    return f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"


def _cbor(texts: Mapping[str, str]) -> bytes:
    """Return a map of fewer than 24 texts in CBOR (RFC 8949)."""
    return bytes([0xA0 + len(texts)]) + b"".join(_cbor_text(part) for pair in texts.items() for part in pair)


def _cbor_text(text: str) -> bytes:
    raw = text.encode()
    return b"\x79" + len(raw).to_bytes(2, "big") + raw
