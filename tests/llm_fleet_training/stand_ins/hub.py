"""A Hub on loopback that answers the requests of huggingface_hub, and rejects the same ones as the real Hub.

Paths, headers and codes are those that huggingface_hub 2.4 reads (`hf_api.py`, `file_download.py`, `utils/_http.py`);
the real Hub lists the files of a gated model to every user, and denies access to each file.
"""

import asyncio
import hashlib
import threading
from dataclasses import dataclass, field

from aiohttp import web

COMMIT = "0e9e39f249a16976918f6564b8830bc894c89659"
GOOD = "hf_goodtoken"
STRANGER = "hf_tokenwithoutaccess"
_BIG = 1000
"""Files of this size are stored with LFS, so the Hub has their SHA-256."""


@dataclass
class StandInHub:
    """One model, or data set, `owner/tiny`. What a test sets decides how it answers."""

    files: dict[str, bytes]
    gated: bool = False
    busy: int = 0
    """So many file requests are answered with 503 from now on."""
    cut: dict[str, int] = field(default_factory=dict[str, int])
    """After how many bytes the connection is lost, once a file."""
    stall: dict[str, int] = field(default_factory=dict[str, int])
    """After how many bytes nothing more comes."""
    other: set[str] = field(default_factory=set[str])
    """Files of which other bytes come than the listing reports."""
    requested: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Method, path and `Range` of each request."""
    tokens: set[str] = field(default_factory=set[str])
    endpoint: str = ""

    def start(self) -> None:
        """Serve on a free port of loopback."""
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(10)

    def stop(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def fetched(self) -> list[tuple[str, str]]:
        """Name and `Range` of each downloaded file."""
        return [
            (path.rsplit("/", 1)[-1], span)
            for method, path, span in self.requested
            if method == "GET" and "/resolve/" in path
        ]

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application()
        app.router.add_get("/api/models/{owner}/{name}", self._info)
        app.router.add_get("/api/models/{owner}/{name}/revision/{revision}", self._info)
        app.router.add_get("/api/models/{owner}/{name}/tree/{revision}", self._tree)
        app.router.add_get("/api/datasets/{owner}/{name}", self._info)
        app.router.add_get("/api/datasets/{owner}/{name}/revision/{revision}", self._info)
        app.router.add_get("/api/datasets/{owner}/{name}/tree/{revision}", self._tree)
        app.router.add_get("/datasets/{owner}/{name}/resolve/{revision}/{file:.+}", self._file)
        app.router.add_get("/{owner}/{name}/resolve/{revision}/{file:.+}", self._file)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", 0)
        self._loop.run_until_complete(site.start())
        self.endpoint = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())

    async def _info(self, request: web.Request) -> web.Response:
        if refused := self._refused(request):
            return refused
        if request.match_info.get("revision", "main") not in ("main", "v1", COMMIT):
            return _error(404, "RevisionNotFound", "Invalid rev id: nowhere")
        assert request.query.get("blobs") == "true", request.query
        siblings = [{"rfilename": name, **_reported(data)} for name, data in self.files.items()]
        return web.json_response(
            {"id": "owner/tiny", "sha": COMMIT, "siblings": siblings, "gated": self.gated and "manual"}
        )

    async def _tree(self, request: web.Request) -> web.Response:
        if refused := self._refused(request):
            return refused
        assert request.match_info["revision"] == COMMIT
        found = [{"type": "file", "path": name, **_in_tree(data)} for name, data in self.files.items()]
        return web.json_response(found)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        if refused := self._refused(request) or self._locked(request):
            return refused
        if self.busy:
            self.busy -= 1
            return web.Response(status=503)
        name = request.match_info["file"]
        data = self.files[name] if name not in self.other else self.files[name][::-1]
        start = int(request.headers.get("Range", "bytes=0-")[6:].split("-")[0])
        headers = {
            "X-Repo-Commit": COMMIT,
            "ETag": f'"{_etag(self.files[name])}"',
            "Content-Length": str(len(data) - start),
        }
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        response = web.StreamResponse(status=206 if start else 200, headers=headers)
        await response.prepare(request)
        if request.method == "HEAD":
            return response
        limit = self.cut.pop(name, None) if name in self.cut else self.stall.get(name)
        await response.write(data[start:] if limit is None else data[start : start + limit])
        if name in self.stall:
            while request.transport is not None and not request.transport.is_closing():
                await asyncio.sleep(0.02)
        if limit is not None:
            assert request.transport is not None
            request.transport.close()
        return response

    def _refused(self, request: web.Request) -> web.Response | None:
        self.requested.append((request.method, request.path, request.headers.get("Range", "")))
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.tokens.add(token)
        if token not in ("", GOOD, STRANGER):
            return _error(401, None, "Invalid credentials in Authorization header")
        if request.match_info["name"] != "tiny":
            return _error(404 if token else 401, "RepoNotFound", "Repository not found")
        return None

    def _locked(self, request: web.Request) -> web.Response | None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not self.gated or token == GOOD:
            return None
        if not token:
            return _error(401, "GatedRepo", "Access to model owner/tiny is restricted. Please log in.")
        return _error(
            403, "GatedRepo", "Access to model owner/tiny is restricted and you are not in the authorized list."
        )


def _error(status: int, code: str | None, message: str) -> web.Response:
    headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
    return web.json_response({"error": message}, status=status, headers=headers)


def _etag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest() if len(data) > _BIG else _blob(data)


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _reported(data: bytes) -> dict[str, object]:
    if len(data) <= _BIG:
        return {"size": len(data), "blobId": _blob(data)}
    lfs = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "pointerSize": 134}
    return {"size": len(data), "blobId": _blob(b"a pointer"), "lfs": lfs}


def _in_tree(data: bytes) -> dict[str, object]:
    found: dict[str, object] = {"size": len(data), "oid": _blob(data)}
    if len(data) > _BIG:
        found["lfs"] = {"size": len(data), "oid": hashlib.sha256(data).hexdigest(), "pointerSize": 134}
    return found
