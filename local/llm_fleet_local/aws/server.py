"""The server: moto's services and the emulator's CloudFormation on one loopback port, in this process."""

import logging
import os
from functools import partial
from io import BytesIO
from threading import Thread
from typing import Any

from werkzeug.datastructures import Headers
from werkzeug.serving import BaseWSGIServer, make_server
from werkzeug.test import run_wsgi_app

from llm_fleet_local.aws.remembered_models import remember_models

_LOG = logging.getLogger(__name__)

DEFAULT_ACCOUNT = "123456789012"
DEFAULT_REGION = "us-west-2"
HOST = "localhost"
"""A name, not an IP address: the CDK CLI uses path-style S3 URLs only for endpoints called `localhost`."""


class LocalServer:
    """Serves until stopped. One per process, because moto keeps its state in module globals."""

    def __init__(self, *, port: int = 0, account: str = DEFAULT_ACCOUNT, region: str = DEFAULT_REGION) -> None:
        """Bind to `port` of the loopback interface (0: any free port); `region` is for unsigned requests only."""
        prepare(account)
        from moto.moto_server.werkzeug_app import (
            DomainDispatcherApplication,
            MotoRequestHandler,
            create_backend_app,
        )

        from llm_fleet_local.aws.execution_roles import acting_as
        from llm_fleet_local.aws.functions.invocation import Invocation
        from llm_fleet_local.aws.resources.catalog_provider import CatalogProvider
        from llm_fleet_local.aws.router import Router
        from llm_fleet_local.aws.service_lookups import ServiceLookups
        from llm_fleet_local.aws.stacks.engine import CloudFormation
        from llm_fleet_local.aws.stacks.nested import WithNestedStacks
        from llm_fleet_local.aws.steering import Steering

        self.account = account
        self.region = region
        self._server: BaseWSGIServer = make_server(
            "127.0.0.1", port, _not_ready, threaded=True, request_handler=_quiet(MotoRequestHandler)
        )
        self.port = self._server.server_port
        self.endpoint = f"http://{HOST}:{self.port}"
        os.environ["MOTO_PORT"] = str(self.port)
        provider = CatalogProvider(self.endpoint)
        engine = CloudFormation(
            partial(WithNestedStacks, provider),
            ServiceLookups(self.endpoint, account),
            account=account,
            acting_as=partial(acting_as, iam=partial(provider.services.client, "iam", region)),
        )
        services = DomainDispatcherApplication(create_backend_app)
        invocation = Invocation(self.endpoint, account)
        self._server.app = Router(
            engine, services, default_region=region, invoke=invocation.invoke, steer=Steering(account).steer
        )

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which the CDK CLI and any SDK use this server."""
        return client_environment(self.endpoint, account=self.account, region=self.region)

    def serve_forever(self) -> None:
        """Serve in this thread until another one calls `stop`."""
        self._server.serve_forever(poll_interval=0.1)

    def start(self) -> None:
        """Serve in a separate thread."""
        Thread(target=self.serve_forever, name="local-aws", daemon=True).start()

    def stop(self) -> None:
        """Stop serving and free the port."""
        self._server.shutdown()
        self._server.server_close()


def client_environment(endpoint: str, *, account: str, region: str) -> dict[str, str]:
    """Return the variables with which the CDK CLI and the SDKs use the server; the credentials are dummies."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DEFAULT_ACCOUNT": account,
        "CDK_DEFAULT_REGION": region,
    }


def prepare(account: str) -> None:
    """Read what every server of an account needs. A second call does nothing."""
    os.environ["MOTO_ACCOUNT_ID"] = account
    # A misspelled AWS managed policy must fail as it would on AWS.
    os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
    remember_models()  # moto reads those of EC2 three times
    # Not earlier: moto reads its settings when it is imported.
    from moto.moto_server import werkzeug_app  # noqa: F401  # pyright: ignore[reportUnusedImport]

    from llm_fleet_local.aws.resources.moto_fixes import install_moto_fixes
    from llm_fleet_local.aws.resources.spec import type_specs

    install_moto_fixes()
    type_specs()


def _not_ready(_: Any, start_response: Any) -> list[bytes]:
    start_response("503 Service Unavailable", [])
    return []


def _quiet(handler: type[Any]) -> type[Any]:
    """Return a request handler that keeps connections open and does not write a line for every request."""

    class Quiet(handler):  # pyright: ignore[reportUntypedBaseClass]
        """moto's handler without its access log."""

        disable_nagle_algorithm = True

        def log_request(self, *_: Any) -> None:
            """Write nothing."""

        def run_wsgi(self) -> None:
            """Answer one request, read and written completely: werkzeug's own method closes each connection."""
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            environ = self.make_environ()
            length = None if environ.get("wsgi.input_terminated") else int(environ.get("CONTENT_LENGTH") or 0)
            environ["wsgi.input"] = BytesIO(environ["wsgi.input"].read(length))
            try:
                data, status, headers = run_wsgi_app(self.server.app, environ, buffered=True)
            except Exception:
                _LOG.exception("%s %s", self.command, self.path)
                data, status, headers = [b""], "500 Internal Server Error", Headers()
            content = b"".join(data)
            code, _, reason = status.partition(" ")
            self.send_response(int(code), reason)
            for name, value in headers:
                self.send_header(name, value)
            if "Content-Length" not in headers and int(code) not in (204, 304):
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Quiet
