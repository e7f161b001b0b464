"""A server on loopback with Jupyter's API, instead of the one on an instance."""

import json
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit


class JupyterServer(ThreadingHTTPServer):
    """Answers as it is configured to."""

    def __init__(self, *, token: str = "", base: str = "/") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.token = token
        self.base = base
        self.kernels: list[dict[str, Any]] = []
        self.terminals: list[dict[str, Any]] | None = []
        """`None`: a server without terminals."""
        self.broken: str | None = None
        """What it answers in place of JSON."""
        self.tracked = 0
        """Requests that Jupyter would count as someone's activity."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def note(self, runtime: Path, *, secure: bool = False, port: int | None = None, name: str = "1") -> Path:
        """Write the file in which a Jupyter server describes itself."""
        runtime.mkdir(parents=True, exist_ok=True)
        path = runtime / f"jpserver-{name}.json"
        reported = {
            "base_url": self.base,
            # Not the address of the request: a redirect must stay on this machine.
            "hostname": "203.0.113.7",
            "password": False,
            "pid": 1,
            "port": port or self.port,
            "root_dir": "/home/ec2-user/SageMaker",
            "secure": secure,
            "token": self.token,
            "url": "http://203.0.113.7/",
        }
        path.write_text(json.dumps(reported))
        return path


class _Handler(BaseHTTPRequestHandler):
    server: JupyterServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.server.tracked += parse_qs(url.query).get("no_track_activity") != ["1"]
        if self.server.token and self.headers["Authorization"] != f"token {self.server.token}":
            return self._answer(403, json.dumps({"message": "Forbidden"}))
        if self.server.broken is not None:
            return self._answer(200, self.server.broken)
        reported = {"kernels": self.server.kernels, "terminals": self.server.terminals}
        value = reported.get(url.path.removeprefix(f"{self.server.base.rstrip('/')}/api/"))
        return self._answer(404 if value is None else 200, json.dumps(value))

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(
    *, token: str = "", base: str = "/", certificate: tuple[Path, Path] | None = None
) -> Generator[JupyterServer]:
    """A server that runs during the context; with a certificate and its key it uses TLS."""
    server = JupyterServer(token=token, base=base)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
