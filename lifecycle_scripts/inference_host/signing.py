"""AWS Signature Version 4 for a POST without a query: hosts have neither the AWS CLI nor an SDK."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Credentials:
    """Credentials of the host's role, from the instance metadata."""

    access_key: str
    secret_key: str
    token: str


def signed_headers(
    *,
    credentials: Credentials,
    service: str,
    region: str,
    host: str,
    headers: Mapping[str, str],
    body: bytes,
    now: datetime,
) -> dict[str, str]:
    """Return `headers` with the signature of a POST of `body` to `https://<host>/`; `now` is in UTC."""
    time = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{time[:8]}/{region}/{service}/aws4_request"
    signed = {name.lower(): value for name, value in headers.items()}
    signed.update({"host": host, "x-amz-date": time, "x-amz-security-token": credentials.token})
    names = ";".join(sorted(signed))
    lines = "".join(f"{name}:{signed[name].strip()}\n" for name in sorted(signed))
    request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    to_sign = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    signature = _hmac(key, to_sign).hex()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return {**signed, "authorization": authorization}


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
