"""What the compute subnet of one AZ must hold, and what it has."""

from dataclasses import dataclass
from ipaddress import IPv4Network

from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.network_claim import AddressClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonePlan:
    """The addresses and network interfaces of one AZ."""

    availability_zone_id: str
    claims: tuple[AddressClaim, ...]
    """Who takes addresses of the compute subnet."""
    subnet_cidr: str | None
    """The compute subnet; `None` when nobody told its size (an existing subnet, or a CIDR known at deploy time)."""
    other_interfaces: int = 0
    """Interfaces in this AZ outside the compute subnet: endpoints and NAT."""

    @property
    def addresses(self) -> int:
        """Addresses that the claims take."""
        return sum(claim.addresses for claim in self.claims)

    @property
    def headroom(self) -> int:
        """Addresses kept free for a replacement: one more instance of the largest kind."""
        return max((claim.addresses_each for claim in self.claims if claim.replaceable and claim.count), default=0)

    @property
    def addresses_needed(self) -> int:
        """What the subnet must hold: claims, headroom, and what AWS reserves of every subnet."""
        return self.addresses + self.headroom + address_facts().reserved_per_subnet

    @property
    def addresses_given(self) -> int | None:
        """All addresses of the subnet, reserved ones included; `None` when its size is unknown."""
        return IPv4Network(self.subnet_cidr).num_addresses if self.subnet_cidr else None

    @property
    def prefix_needed(self) -> int | None:
        """Prefix length of the smallest subnet that holds it all; `None` when no subnet can."""
        prefix = 32 - (self.addresses_needed - 1).bit_length()
        prefix = min(prefix, address_facts().smallest_block_prefix)
        return prefix if prefix >= address_facts().largest_block_prefix else None

    @property
    def prefix_given(self) -> int | None:
        """Prefix length of the subnet; `None` when its size is unknown."""
        return IPv4Network(self.subnet_cidr).prefixlen if self.subnet_cidr else None

    @property
    def interfaces(self) -> int:
        """Network interfaces in this AZ: those of the claims, headroom included, and those outside the subnet."""
        return sum(claim.interfaces for claim in self.claims) + self.headroom + self.other_interfaces

    @property
    def fits(self) -> bool:
        """Whether the subnet holds what it must; true when its size is unknown."""
        return self.addresses_given is None or self.addresses_needed <= self.addresses_given
