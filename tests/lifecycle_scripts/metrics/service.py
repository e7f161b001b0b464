"""The services that the program uses: metadata, CloudWatch Logs and a Prometheus workspace, on one local port.

It accepts only signed requests: botocore signs each request again, and both signatures must be equal.
"""

import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ROLE = {
    "AccessKeyId": "AKIDEXAMPLE",
    "SecretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "Token": "token",
    "Expiration": "2099-01-01T00:00:00Z",
}


class Service(ThreadingHTTPServer):
    """The requests, and the answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.streams: set[tuple[str, str]] = set()
        self.events: list[dict[str, Any]] = []
        self.written: list[bytes] = []
        self.calls: list[str] = []
        self.refusals: list[tuple[int, str, dict[str, str]]] = []
        """Answers in place of the next ones: code, error, headers."""
        self.rejected: dict[str, int] = {}
        self.unsigned: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(event["message"]) for event in self.events]


class _Handler(BaseHTTPRequestHandler):
    server: Service  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_PUT(self) -> None:
        self._answer(200, b"metadata-token")

    def do_GET(self) -> None:
        if self.headers.get("X-aws-ec2-metadata-token") != "metadata-token":
            self._answer(401, b"")
        elif self.path.endswith("security-credentials/"):
            self._answer(200, b"the-role\n")
        else:
            self._answer(200, json.dumps(ROLE).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        action = self.headers.get("x-amz-target", self.path).rpartition(".")[2]
        self.server.calls.append(action)
        if not self._is_signed(body):
            self.server.unsigned.append(action)
        if self.server.refusals:
            code, error, headers = self.server.refusals.pop(0)
            self._answer(code, json.dumps({"message": error}).encode(), {"x-amzn-ErrorType": error, **headers})
        elif self.path.endswith("/api/v1/remote_write"):
            self.server.written.append(body)
            self._answer(200, b"")
        else:
            self._logs(action, json.loads(body))

    def _logs(self, action: str, reported: dict[str, Any]) -> None:
        stream = (reported["logGroupName"], reported["logStreamName"])
        if action == "CreateLogStream":
            self.server.streams.add(stream)
            self._answer(200, b"")
        elif stream not in self.server.streams:
            # Like the service, which also has the error in the body.
            self._answer(400, json.dumps({"__type": "ResourceNotFoundException", "message": "no stream"}).encode())
        else:
            times = [event["timestamp"] for event in reported["logEvents"]]
            assert times == sorted(times), "PutLogEvents requires events in order"
            self.server.events += reported["logEvents"]
            rejected = {"rejectedLogEventsInfo": self.server.rejected} if self.server.rejected else {}
            self._answer(200, json.dumps({"nextSequenceToken": "1", **rejected}).encode())

    def _is_signed(self, body: bytes) -> bool:
        given = self.headers["authorization"]
        scope, names = given.split("Credential=")[1].split(",")[0].split("/"), given.split("SignedHeaders=")[1]
        signed = {name: self.headers[name] for name in names.split(",")[0].split(";") if name != "x-amz-date"}
        signed["host"] = self.headers["host"]
        request = AWSRequest("POST", f"https://{signed['host']}{self.path}", headers=signed, data=body)
        signer = SigV4Auth(Credentials(ROLE["AccessKeyId"], ROLE["SecretAccessKey"]), scope[3], scope[2])
        request.context["timestamp"] = self.headers["x-amz-date"]
        request.headers["X-Amz-Date"] = self.headers["x-amz-date"]
        canonical = signer.canonical_request(request)
        return given.endswith(signer.signature(signer.string_to_sign(request, canonical), request))

    def _answer(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_response(self, code: int, message: str | None = None) -> None:
        """Send no date, because a test can set one."""
        self.send_response_only(code, message)

    def log_message(self, format: str, *args: object) -> None:
        pass


def serve() -> Iterator[Service]:
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.01,))
        thread.start()
        yield service
        service.shutdown()
        thread.join()


def unpacked(body: bytes) -> dict[str, tuple[dict[str, str], list[tuple[float, int]]]]:
    """The series of a write request by name, decoded by the specification: labels, and samples with their times."""
    series: dict[str, tuple[dict[str, str], list[tuple[float, int]]]] = {}
    for _, content in _fields(_unsnapped(body)):
        labels: dict[str, str] = {}
        samples: list[tuple[float, int]] = []
        for number, part in _fields(content):
            reported = dict(_fields(part))
            if number == 1:
                labels[reported[1].decode()] = reported[2].decode()
            else:
                samples.append((struct.unpack("<d", reported[1])[0], reported[2]))
        assert list(labels) == sorted(labels), "labels are in order of their names"
        series[labels["__name__"]] = labels, samples
    return series


def _unsnapped(body: bytes) -> bytes:
    length, at = _varint(body, 0)
    found = b""
    while at < len(body):
        assert body[at] == 61 << 2, "a literal with two bytes of length"
        size = struct.unpack("<H", body[at + 1 : at + 3])[0] + 1
        found += body[at + 3 : at + 3 + size]
        at += 3 + size
    assert len(found) == length
    return found


def _fields(content: bytes) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        if key & 7 == 0:
            value, at = _varint(content, at)
        else:
            size, at = (8, at) if key & 7 == 1 else _varint(content, at)
            value, at = content[at : at + size], at + size
        found.append((key >> 3, value))
    return found


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (content[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not content[at - 1] & 0x80:
            return value, at
