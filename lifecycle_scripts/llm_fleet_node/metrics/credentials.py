"""The credentials of the node's role: from the instance metadata, otherwise from the AWS CLI."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from datetime import datetime, timezone
from typing import Any, Optional

from llm_fleet_node.metrics.machine import Machine, Unreadable
from llm_fleet_node.metrics.signing import Credentials

_METADATA = "http://169.254.169.254"
"""On HyperPod: assumption: hyperpod-credentials-at-metadata-address"""
_SECONDS = 3
_EARLY = 300
"""Seconds before expiry at which credentials are renewed."""
_ROLES = "meta-data/iam/security-credentials/"


class CredentialSource:
    """Caches credentials, and renews them before they expire."""

    def __init__(self, machine: Machine) -> None:
        """`machine`: its AWS CLI is used if the metadata has no role. LLM_FLEET_METADATA: metadata address in tests."""
        self._machine = machine
        self._place = os.environ.get("LLM_FLEET_METADATA", _METADATA)
        # A proxy of the node cannot reach this address.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._kept: Optional[Credentials] = None

    def credentials(self) -> Credentials:
        """Return credentials that are valid for minutes. Raises `Unreadable` if there are none."""
        if self._kept is None or self._kept.expires - time.time() < _EARLY:
            self._kept = self._requested()
        return self._kept

    def forget(self) -> None:
        """Discard the cached credentials, because AWS has rejected them."""
        self._kept = None

    def _requested(self) -> Credentials:
        try:
            return _credentials(self._of_instance(), "Token")
        except (OSError, ValueError, KeyError, IndexError) as error:
            missed = str(error)
        try:
            said = self._machine.run("aws", "configure", "export-credentials", "--format", "process", seconds=20)
            return _credentials(json.loads(said), "SessionToken")
        except (Unreadable, ValueError, KeyError) as error:
            raise Unreadable(f"no credentials: instance metadata: {missed}; AWS CLI: {error}") from error

    def _of_instance(self) -> dict[str, Any]:
        token = self._ask("PUT", "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "300"})
        headers = {"X-aws-ec2-metadata-token": token}
        role = self._ask("GET", f"/latest/{_ROLES}", headers).split()[0]
        return json.loads(self._ask("GET", f"/latest/{_ROLES}{role}", headers))

    def _ask(self, method: str, path: str, headers: dict[str, str]) -> str:
        request = urllib.request.Request(self._place + path, method=method, headers=headers)  # noqa: S310
        with self._opener.open(request, timeout=_SECONDS) as answer:
            return answer.read().decode()


def _credentials(reported: dict[str, Any], token: str) -> Credentials:
    """Credentials without an expiry, e.g. of a user, are renewed each hour."""
    end = reported.get("Expiration")
    expires = time.time() + 3600 if end is None else _time(end)
    return Credentials(reported["AccessKeyId"], reported["SecretAccessKey"], reported.get(token) or "", expires)


def _time(text: str) -> float:
    parsed = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)).timestamp()
