"""A bucket policy that denies requests without TLS lets loopback through.

All calls here are plain HTTP on loopback, which no one can listen to; and moto takes "deny unless TLS" for "deny".
All other statements count as they are.

Source: emulation, loopback speaks no TLS here
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket

_TLS_KEYS = ("aws:securetransport", "s3:tlsversion")


def install() -> None:
    """Make bucket permissions leave out the statements that only plain HTTP would meet."""

    def get_permission(self: FakeBucket, action: str, resource: str) -> Any:
        if self.policy is None:
            return PermissionResult.NEUTRAL
        document = json.loads(self.policy.decode())
        given: Any = document["Statement"]
        statements = cast(list[Any], given if isinstance(given, list) else [given])
        seen = document | {"Statement": [one for one in statements if not _needs_plain_http(one)]}
        return IAMPolicy(json.dumps(seen)).is_action_permitted(action, resource)

    FakeBucket.get_permission = get_permission


def _needs_plain_http(statement: Mapping[str, Any]) -> bool:
    """Return whether a statement denies what does not come over TLS, or over too old a TLS."""
    conditions = cast(Mapping[str, Mapping[str, Any]], statement.get("Condition", {}))
    keys = {key.lower() for tests in conditions.values() for key in tests}
    return statement.get("Effect") == "Deny" and bool(keys) and keys <= set(_TLS_KEYS)
