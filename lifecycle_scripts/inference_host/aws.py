"""The host's two AWS calls: PutLogEvents, and the SignalResource that CloudFormation waits for."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Optional

from inference_host.host import pause, say
from inference_host.settings import Settings
from inference_host.signing import Credentials, signed_headers

_METADATA = "http://169.254.169.254"
_SECONDS = 10
_TIMES = 3
_THERE_ALREADY = "ResourceAlreadyExistsException"


class Metadata:
    """The instance metadata service, with IMDSv2."""

    def __init__(self) -> None:
        """LLM_FLEET_METADATA replaces the address in tests."""
        self._place = os.environ.get("LLM_FLEET_METADATA", _METADATA)
        # A proxy of the host cannot reach this address.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._token = self._ask("PUT", "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "300"})

    def get(self, path: str) -> str:
        """Return what is at `path` below `/latest/`."""
        return self._ask("GET", f"/latest/{path}", {"X-aws-ec2-metadata-token": self._token})

    def credentials(self) -> Credentials:
        """Return the credentials of the host's role."""
        place = "meta-data/iam/security-credentials/"
        reported = json.loads(self.get(place + self.get(place).split()[0]))
        return Credentials(reported["AccessKeyId"], reported["SecretAccessKey"], reported["Token"])

    def _ask(self, method: str, path: str, headers: dict[str, str]) -> str:
        request = urllib.request.Request(self._place + path, method=method, headers=headers)  # noqa: S310
        with self._opener.open(request, timeout=_SECONDS) as answer:
            return answer.read().decode()


class Aws:
    """AWS calls with the host's role."""

    def __init__(self, settings: Settings, metadata: Metadata) -> None:
        """LLM_FLEET_AWS replaces the endpoint of all services in tests."""
        self._settings = settings
        self._credentials = metadata.credentials()
        self._place = os.environ.get("LLM_FLEET_AWS", "")

    def log(self, stream: str, message: str) -> None:
        """Write one line to the service's log group."""
        where = {"logGroupName": self._settings.log_group, "logStreamName": stream}
        try:
            self._logs("CreateLogStream", where)
        except urllib.error.HTTPError as error:
            if _THERE_ALREADY not in error.msg:
                raise
        now = int(time.time() * 1000)
        self._logs("PutLogEvents", {**where, "logEvents": [{"timestamp": now, "message": message}]})

    def signal(self, resource: str, instance: str, *, success: bool) -> None:
        """Signal success or failure to `resource` of the stack; rejected if the resource does not wait."""
        self._post(
            "cloudformation",
            "application/x-www-form-urlencoded",
            urllib.parse.urlencode(
                {
                    "Action": "SignalResource",
                    "Version": "2010-05-15",
                    "StackName": self._settings.stack,
                    "LogicalResourceId": resource,
                    "UniqueId": instance,
                    "Status": "SUCCESS" if success else "FAILURE",
                }
            ),
        )

    def _logs(self, action: str, reported: dict[str, Any]) -> None:
        self._post(
            "logs", "application/x-amz-json-1.1", json.dumps(reported), {"x-amz-target": f"Logs_20140328.{action}"}
        )

    def _post(self, service: str, kind: str, text: str, more: Optional[Mapping[str, str]] = None) -> None:
        """Send the request, with retries after a network or service error. Raises `OSError`."""
        for attempt in range(1, _TIMES):
            try:
                return self._send(service, kind, text.encode(), more or {})
            except urllib.error.HTTPError as error:
                if error.code < 500 and error.code != 429:
                    raise
                say(f"{service}: {error}; retrying")
            except OSError as error:
                say(f"{service}: {error}; retrying")
            time.sleep(pause(attempt))
        return self._send(service, kind, text.encode(), more or {})

    def _send(self, service: str, kind: str, body: bytes, more: Mapping[str, str]) -> None:
        host = f"{service}.{self._settings.region}.{self._settings.url_suffix}"
        headers = signed_headers(
            credentials=self._credentials,
            service=service,
            region=self._settings.region,
            host=host,
            headers={"content-type": kind, **more},
            body=body,
            now=datetime.now(timezone.utc),
        )
        url = f"{self._place or f'https://{host}'}/"
        request = urllib.request.Request(url, data=body, method="POST", headers=headers)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310
                return
        except urllib.error.HTTPError as error:
            error.msg = f"{error.msg}: {error.read().decode(errors='replace')[:500]}"
            raise
