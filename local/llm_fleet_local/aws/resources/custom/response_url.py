"""The address for a custom resource's response: on AWS a presigned S3 URL, here a loopback address.

Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html (2026-11)
"""

import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_LARGEST = 4096
"""Maximum size of a response object in bytes."""


class ResponseUrl:
    """Receives one response by HTTP PUT on loopback, under a random path; a context manager."""

    def __enter__(self) -> "ResponseUrl":
        """Start listening."""
        self._answer: dict[str, Any] | None = None
        self._wrong = ""
        self._came = threading.Event()
        self._path = f"/{secrets.token_urlsafe(24)}"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The URL for the event's `ResponseURL`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self._path}"

    def answer(self, seconds: float) -> dict[str, Any] | None:
        """Wait for the response; `None` after the timeout. Raises `ValueError` if CloudFormation would reject it."""
        self._came.wait(seconds)
        if self._wrong:
            raise ValueError(self._wrong)
        return self._answer

    def _take(self, body: bytes) -> None:
        if len(body) > _LARGEST:
            self._wrong = f"Response object is too long: {len(body)} bytes, at most {_LARGEST}"
        else:
            try:
                self._answer = json.loads(body)
            except ValueError:
                self._wrong = "Invalid response: it is not JSON"
        self._came.set()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                right = self.path == outer._path
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(200 if right else 403)
                self.send_header("Content-Length", "0")
                self.end_headers()
                if right:
                    outer._take(body)

            def log_message(self, format: str, *args: object) -> None:
                """Write nothing, because the deployment uses the terminal."""

        return Handler
