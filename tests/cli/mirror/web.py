"""A web server of a folder, as vendors have them: with ranges, and with moods."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote


class Web(ThreadingHTTPServer):
    """Serves the files in `folder`; `moods` are what befalls the next requests: a status, or `cut`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.moods: list[str] = []
        self.asked: list[str] = []
        self.kinds: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    @property
    def web(self) -> Web:
        assert isinstance(self.server, Web)
        return self.server

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        mood = self.web.moods.pop(0) if self.web.moods else ""
        path = self.path.split("?")[0]
        self.web.asked.append(path + self.headers.get("Range", ""))
        file = self.web.folder / path.strip("/")
        file = file if file.exists() else self.web.folder / unquote(path).strip("/")
        file = file / "index" if file.is_dir() else file
        if mood.isdigit() or not file.is_file():
            self.send_error(int(mood or 404))
            return
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        body = file.read_bytes()[int(match[1]) if match else 0 :]
        self.send_response(206 if match else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", self.web.kinds.get(path, "application/octet-stream"))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if mood == "cut" else body)
        if mood == "cut":
            self.close_connection = True
            self.connection.close()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serve(folder: Path) -> Generator[Web]:
    """Serve `folder` until the end of the context."""
    with Web(folder) as web:
        thread = Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield web
        finally:
            web.shutdown()
            thread.join()
