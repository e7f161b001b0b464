"""Facts about the account and region for a check of a configuration."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class AccountContext:
    """Facts about the account that are not in a configuration. By default, all resources that it names exist.

    The class with this name in the client describes each field.
    """

    zones: dict[str, str] = field(default_factory=dict)
    public_subnets: list[str] = field(default_factory=list)
    closed_security_groups: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    reservations: dict[str, dict[str, Any]] = field(default_factory=dict)
    images: dict[str, dict[str, str]] = field(default_factory=dict)
    file_system_vpcs: dict[str, str] = field(default_factory=dict)

    def exist(self, names: list[str]) -> list[str]:
        """Return those of the names that exist."""
        return [name for name in names if name not in self.missing]


@dataclass(frozen=True, kw_only=True)
class World:
    """Resources that exist for every configuration."""

    vpc_id: str
    zone: str
    """AZ of the head node."""
    caches_interface: str
    """The network interface of every file cache."""
