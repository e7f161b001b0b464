"""A bucket policy that denies requests without TLS allows requests on loopback.

All calls here are plain HTTP on loopback, where no other machine can listen, and moto treats "deny unless TLS" as
"deny". All other statements apply unchanged.

Source: emulation, loopback speaks no TLS here
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket

_TLS_KEYS = ("aws:securetransport", "s3:tlsversion")


def install() -> None:
    """Ignore the statements of bucket policies that apply only to plain HTTP."""

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
    """Return whether a statement denies requests without TLS, or with an old version of TLS."""
    conditions = cast(Mapping[str, Mapping[str, Any]], statement.get("Condition", {}))
    keys = {key.lower() for tests in conditions.values() for key in tests}
    return statement.get("Effect") == "Deny" and bool(keys) and keys <= set(_TLS_KEYS)
