"""AWS Signature Version 4 for a POST without a query.

docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Credentials:
    """Credentials of the node's role. Never printed."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str = field(repr=False)
    expires: float
    """Seconds since 1970."""


def signed_headers(
    *,
    credentials: Credentials,
    service: str,
    region: str,
    host: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
    now: datetime,
) -> dict[str, str]:
    """Return `headers` with the signature of a POST of `body` to `https://<host><path>`; `now` is in UTC.

    `path` has no characters that need escaping.
    """
    time = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{time[:8]}/{region}/{service}/aws4_request"
    signed = {name.lower(): value for name, value in headers.items()}
    signed.update({"host": host, "x-amz-date": time, "x-amz-security-token": credentials.token})
    names = ";".join(sorted(signed))
    lines = "".join(f"{name}:{signed[name].strip()}\n" for name in sorted(signed))
    request = f"POST\n{path}\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    to_sign = f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    whose = f"{credentials.access_key}/{scope}"
    authorization = f"AWS4-HMAC-SHA256 Credential={whose}, SignedHeaders={names}, Signature={signature}"
    return {**signed, "authorization": authorization}
