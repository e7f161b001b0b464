"""A bucket policy that denies requests without TLS lets loopback through.

Everything here speaks plain HTTP on loopback, which no one can listen to; and moto takes "deny unless TLS" for "deny".
All other statements count as they are.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from moto.s3.models import FakeBucket

_INSTALLED = "_llm_fleet_loopback_is_tls"
_TLS_KEYS = ("aws:securetransport", "s3:tlsversion")


def install() -> None:
    """Make bucket permissions leave out the statements that only plain HTTP would meet."""
    if hasattr(FakeBucket, _INSTALLED):
        return
    as_moto_does = FakeBucket.get_permission

    def get_permission(self: FakeBucket, action: str, resource: str) -> Any:
        policy = self.policy
        if policy is None:
            return as_moto_does(self, action, resource)
        document = json.loads(policy.decode())
        statements = document["Statement"] if isinstance(document["Statement"], list) else [document["Statement"]]
        seen = FakeBucket.__new__(FakeBucket)
        seen.__dict__ |= {
            **self.__dict__,
            "policy": json.dumps(
                document | {"Statement": [one for one in statements if not _needs_plain_http(one)]}
            ).encode(),
        }
        return as_moto_does(seen, action, resource)

    FakeBucket.get_permission = get_permission
    setattr(FakeBucket, _INSTALLED, True)


def _needs_plain_http(statement: Mapping[str, Any]) -> bool:
    """Tell whether a statement denies what does not come over TLS, or over too old a TLS."""
    conditions = cast(Mapping[str, Mapping[str, Any]], statement.get("Condition", {}))
    keys = {key.lower() for tests in conditions.values() for key in tests}
    return statement.get("Effect") == "Deny" and bool(keys) and keys <= set(_TLS_KEYS)
