"""Facts about the account and region for a check of a configuration."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


def _none() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountContext:
    """Facts about the account that are not in a configuration. By default, all resources that it names exist.

    Subnets are then private, in an AZ that offers their queue's instance types; security groups allow traffic
    between members; images have the configuration's OS for x86_64; reservations have their compute resource's type and
    count, active, in their queue's AZ.
    """

    zones: Mapping[str, str] = field(default_factory=_none)
    """AZ (`us-west-2b`) of a subnet or volume, by id."""
    public_subnets: Collection[str] = ()
    """Ids of subnets that assign public IP addresses."""
    closed_security_groups: Collection[str] = ()
    """Ids of security groups without inbound rules."""
    missing: Collection[str] = ()
    """Ids, names, ARNs and S3 URIs that do not exist."""
    reservations: Mapping[str, Mapping[str, Any]] = field(default_factory=_none)
    """Facts of capacity reservations by id, as DescribeCapacityReservations spells them, e.g. `InstanceType`."""
    images: Mapping[str, Mapping[str, Any]] = field(default_factory=_none)
    """`os`, `architecture`, `version` (of ParallelCluster) and `size_gib` of custom images, by id."""
    file_system_vpcs: Mapping[str, str] = field(default_factory=_none)
    """VPC of a file system of FSx, by id."""

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for ParallelCluster's process."""
        return {
            "zones": dict(self.zones),
            "public_subnets": list(self.public_subnets),
            "closed_security_groups": list(self.closed_security_groups),
            "missing": list(self.missing),
            "reservations": {name: dict(facts) for name, facts in self.reservations.items()},
            "images": {name: dict(facts) for name, facts in self.images.items()},
            "file_system_vpcs": dict(self.file_system_vpcs),
        }
