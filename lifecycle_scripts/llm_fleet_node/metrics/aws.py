"""Sends signed requests to AWS, and describes errors."""

from __future__ import annotations

import email.utils
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Optional
from urllib.parse import urlsplit

from llm_fleet_node.metrics.credentials import CredentialSource
from llm_fleet_node.metrics.machine import Unreadable
from llm_fleet_node.metrics.signing import signed_headers

_SECONDS = 10
_CLOCK = 240.0
"""Clock skew in seconds above which errors mention it. A signature is valid for 5 minutes."""


class Rejected(Exception):
    """AWS has rejected a request, or could not be reached."""

    def __init__(self, why: str, *, again: bool, error: str = "") -> None:
        """Set the reason; `again`: whether a retry can succeed; `error`: the AWS error code."""
        super().__init__(why)
        self.again = again
        self.error = error


class Aws:
    """AWS calls in one Region with the node's role."""

    def __init__(self, region: str, credentials: CredentialSource) -> None:
        """Set Region and credentials. LLM_FLEET_AWS replaces the endpoint of all services in tests."""
        self._region = region
        self._source = credentials
        self._place = os.environ.get("LLM_FLEET_AWS", "")

    def host(self, service: str) -> str:
        """Return the host of `service`, e.g. `logs.us-west-2.amazonaws.com`."""
        return f"{service}.{self._region}.amazonaws.com" + (".cn" if self._region.startswith("cn-") else "")

    def post(self, service: str, url: str, headers: Mapping[str, str], body: bytes) -> bytes:
        """POST `body` and return the answer. Raises `Rejected`."""
        parts = urlsplit(url)
        try:
            credentials = self._source.credentials()
        except Unreadable as error:
            raise Rejected(str(error), again=True) from error
        signed = signed_headers(
            credentials=credentials,
            service=service,
            region=self._region,
            host=parts.netloc,
            path=parts.path,
            headers=headers,
            body=body,
            now=datetime.now(timezone.utc),
        )
        if not credentials.token:
            del signed["x-amz-security-token"]
        where = f"{self._place}{parts.path}" if self._place else url
        request = urllib.request.Request(where, data=body, method="POST", headers=signed)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                return answer.read()
        except urllib.error.HTTPError as error:
            raise self._rejected(service, error) from error
        except OSError as error:
            why = getattr(error, "reason", error)
            raise Rejected(f"{parts.netloc} cannot be reached: {why}", again=True) from error

    def _rejected(self, service: str, error: urllib.error.HTTPError) -> Rejected:
        with error:
            reported = error.read(2000).decode(errors="replace").strip()
        name = error.headers.get("x-amzn-ErrorType", "").partition(":")[0]
        if error.code in (401, 403):
            self._source.forget()
        why = f"{service} returned {error.code}: {name or reported[:300] or error.reason}"
        if name and reported:
            why += f": {reported[:300]}"
        skew = _skew(error.headers.get("Date"))
        if skew is not None and abs(skew) > _CLOCK:
            why += f"; this node's clock is off by {skew:+.0f} s"
        # A missing permission can be added later, so it is worth a retry.
        return Rejected(why, again=error.code >= 500 or error.code in (401, 403, 429), error=f"{name} {reported}")


def _skew(date: Optional[str]) -> Optional[float]:
    """Return the seconds by which the node's clock is ahead of AWS's, from the Date header of an answer."""
    try:
        return time.time() - email.utils.parsedate_to_datetime(date or "").timestamp()
    except (TypeError, ValueError):
        return None
