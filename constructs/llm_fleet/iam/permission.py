"""One statement of a node's policy, with the reason why it is there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


def _no_conditions() -> Mapping[str, Mapping[str, Any]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Something that nodes may do, on what, and why they must."""

    sid: str
    """Statement id, letters and digits: what it is for, in a word."""
    actions: tuple[str, ...]
    """IAM actions, spelt out; a wildcard only where AWS tells no more, and never for nodes."""
    resources: tuple[str, ...]
    """ARNs; `*` only for actions that know no resource."""
    reason: str
    """Why a node needs it, in a sentence without its full stop."""
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=_no_conditions)
    """Condition operator to key to value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the ARNs of a policy point. All three may be tokens."""

    partition: str
    """E.g. `aws`."""
    region: str
    """Region of the cluster."""
    account: str
    """Account of the cluster."""

    def arn(self, service: str, resource: str, *, account: str | None = None) -> str:
        """Return an ARN of this place; `account` may be `*` for resources of the service's own account."""
        return f"arn:{self.partition}:{service}:{self.region}:{account or self.account}:{resource}"
