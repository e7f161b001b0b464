"""The address plan: from instance types and counts to IP addresses, network interfaces, subnet sizes and quota."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from llm_fleet.catalog.hyperpod import facts_of
from llm_fleet.catalog.network import address_facts
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network_layout import compute_slot
from llm_fleet.rules.problem import Problem, is_unresolved


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressClaim:
    """IP addresses and network interfaces that `owner` needs in one compute subnet."""

    owner: str
    """The cluster, group or file system that needs them, as the user named it, e.g. `train/worker-group`."""
    what: str
    """The resource that uses them, e.g. `ml.p5.48xlarge` or `FSx for Lustre`."""
    count: int
    """The number of these resources."""
    addresses_each: int
    """Addresses per resource."""
    interfaces_each: int | None = None
    """Network interfaces per resource. Default: one for each address."""
    availability_zone_id: str | None = None
    """The AZ id, e.g. `usw2-az4`. Default: the first AZ of the network."""
    replaceable: bool = False
    """Whether one may be replaced while the others run, so that the subnet needs addresses for one more."""
    smaller: str = ""
    """What to write to make it smaller, e.g. ``a smaller `size` ``; empty if its size does not determine the count."""
    assumption: str = ""
    """The assumption about an unknown number; empty for none."""

    @property
    def addresses(self) -> int:
        """Addresses of all these resources."""
        return self.count * self.addresses_each

    @property
    def interfaces(self) -> int:
        """Network interfaces of all these resources."""
        return self.count * (self.addresses_each if self.interfaces_each is None else self.interfaces_each)

    @classmethod
    def for_instances(
        cls,
        *,
        owner: str,
        instance_types: str | Sequence[str],
        count: int,
        availability_zone_id: str | None = None,
    ) -> "AddressClaim":
        """Return the claim of `count` nodes of a Slurm group: one address for each network card of the instance type.

        For several types (a flexible group) the type with most cards counts. `instance_types` are `ml.` names. A type
        with an unknown number of cards counts as one card, which is the claim's `assumption`. A count or type that
        is a CDK token claims nothing.
        """
        types = [instance_types] if isinstance(instance_types, str) else list(instance_types)
        if is_unresolved(count) or is_unresolved(types) or not types:
            return cls(owner=owner, what="nodes resolved at deployment", count=0, addresses_each=0)
        cards = {name: facts.network_cards for name in types if (facts := facts_of(name))}
        default = address_facts().addresses_of_unknown_instance
        unknown = [name for name in types if cards.get(name) is None]
        largest = max(types, key=lambda name: cards.get(name) or default)
        return cls(
            owner=owner,
            what=largest,
            count=count,
            addresses_each=cards.get(largest) or default,
            availability_zone_id=availability_zone_id,
            replaceable=True,
            assumption=f"the number of network cards of {', '.join(unknown)} is unknown: assumed to be {default}"
            if unknown
            else "",
        )

    @classmethod
    def for_file_system(
        cls, *, owner: str, what: str = "FSx", availability_zone_id: str | None = None
    ) -> "AddressClaim":
        """Return the minimum claim of an FSx file system; a large one may use more addresses."""
        return cls(
            owner=owner,
            what=what,
            count=1,
            addresses_each=address_facts().addresses_of_file_system,
            availability_zone_id=availability_zone_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonePlan:
    """The addresses and network interfaces of one AZ."""

    availability_zone_id: str
    claims: tuple[AddressClaim, ...]
    """The claims on addresses of the compute subnet."""
    subnet_cidr: str | None
    """The compute subnet; `None` when its size is unknown (an existing subnet, or a CIDR that is a CDK token)."""
    other_interfaces: int = 0
    """Interfaces in this AZ outside the compute subnet: endpoints and NAT."""

    @property
    def addresses(self) -> int:
        """Addresses of all claims."""
        return sum(claim.addresses for claim in self.claims)

    @property
    def headroom(self) -> int:
        """Addresses reserved for replacing nodes: those of one more instance of the largest type."""
        return max((claim.addresses_each for claim in self.claims if claim.replaceable and claim.count), default=0)

    @property
    def addresses_needed(self) -> int:
        """Required addresses: claims, headroom, and those that AWS reserves in every subnet."""
        return self.addresses + self.headroom + address_facts().reserved_per_subnet

    @property
    def addresses_given(self) -> int | None:
        """All addresses of the subnet, reserved ones included; `None` when its size is unknown."""
        return IPv4Network(self.subnet_cidr).num_addresses if self.subnet_cidr else None

    @property
    def prefix_needed(self) -> int | None:
        """Prefix length of the smallest subnet that is large enough; `None` when none is."""
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
        """Whether the subnet is large enough; true when its size is unknown."""
        return self.addresses_given is None or self.addresses_needed <= self.addresses_given


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressPlan:
    """The required size of each compute subnet, by AZ."""

    zones: tuple[ZonePlan, ...]
    """One for each AZ of the network, in its order."""
    interface_quota: int
    """Network interfaces that the account may have per AZ (quota L-DF5E4CA3)."""
    unplaced: tuple[AddressClaim, ...] = ()
    """Claims in an AZ in which the network has no compute subnet."""
    existing: bool = False
    """Whether the subnets exist already, so that llm-fleet cannot make them larger."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of all claims, each once."""
        return tuple(dict.fromkeys(c.assumption for zone in self.zones for c in zone.claims if c.assumption))

    def quota_share(self, zone: ZonePlan) -> float:
        """Return the fraction of the quota that `zone` uses: 1.0 is all of it."""
        return zone.interfaces / self.interface_quota


def plan_addresses(
    claims: Iterable[AddressClaim],
    *,
    subnet_cidrs: Mapping[str, str | None],
    other_interfaces: Mapping[str, int] | None = None,
    interface_quota: int | None = None,
    existing: bool = False,
) -> AddressPlan:
    """Return the address plan for `claims`.

    `subnet_cidrs` has the compute subnet of each AZ id, `None` where its size is unknown; a claim without an AZ belongs
    to the first. `other_interfaces` counts endpoints and NAT gateways of each AZ (default: none), `interface_quota` is
    the account's quota (default: the quota's default, 5000). `existing`: the subnets are not created by
    llm-fleet. A claim in an AZ that is a CDK token is ignored.
    """
    placed: dict[str, list[AddressClaim]] = {zone: [] for zone in subnet_cidrs}
    unplaced: list[AddressClaim] = []
    first = next(iter(subnet_cidrs), "")
    for claim in claims:
        zone = claim.availability_zone_id or first
        if zone in placed or not is_unresolved(zone):
            placed.get(zone, unplaced).append(claim)
    return AddressPlan(
        zones=tuple(
            ZonePlan(
                availability_zone_id=zone,
                claims=tuple(placed[zone]),
                subnet_cidr=None if is_unresolved(cidr) else cidr,
                other_interfaces=(other_interfaces or {}).get(zone, 0),
            )
            for zone, cidr in subnet_cidrs.items()
        ),
        interface_quota=interface_quota or address_facts().interface_quota,
        unplaced=tuple(unplaced),
        existing=existing,
    )


def check_addresses(plan: AddressPlan, *, region: str | None = None) -> list[Problem]:
    """Return a problem for each AZ without a subnet, with a too small one, or with more interfaces than the quota.

    Paths are attribute names of the network. `region` only completes the command in the remedy for the quota.
    """
    problems = [_unplaced(claim, plan) for claim in plan.unplaced]
    for zone in plan.zones:
        if not zone.fits:
            problems.append(_too_small(zone, plan))
        if zone.interfaces > plan.interface_quota:
            problems.append(_over_quota(zone, plan, region))
    return problems


def _unplaced(claim: AddressClaim, plan: AddressPlan) -> Problem:
    zones = ", ".join(zone.availability_zone_id for zone in plan.zones)
    return Problem(
        code=Code.ZONE_WITHOUT_SUBNET,
        path=("availability_zone_ids",),
        message=f"{claim.owner} is in {claim.availability_zone_id}, where the network has no compute subnet",
        value=claim.availability_zone_id,
        allowed=zones,
        remedy=f"move it to one of {zones}, or add {claim.availability_zone_id} to the network's AZs",
    )


def _too_small(zone: ZonePlan, plan: AddressPlan) -> Problem:
    parts = [f"{claim.addresses} for {claim.count} x {claim.what} ({claim.owner})" for claim in _takers(zone)]
    if zone.headroom:
        parts.append(f"{zone.headroom} reserved to replace a node while the others run")
    parts.append(f"{address_facts().reserved_per_subnet} reserved by AWS")
    return Problem(
        code=Code.SUBNET_TOO_SMALL,
        path=("compute_cidrs", zone.availability_zone_id) if plan.existing else ("compute_cidr",),
        message=f"the compute subnet of {zone.availability_zone_id} needs {zone.addresses_needed} addresses and has "
        f"{zone.addresses_given}: {', '.join(parts)}",
        value=zone.subnet_cidr,
        allowed=f"/{zone.prefix_needed} or larger" if zone.prefix_needed else "no subnet is that large",
        remedy=_larger(zone, plan),
    )


def _takers(zone: ZonePlan) -> list[AddressClaim]:
    return [claim for claim in zone.claims if claim.addresses]


def _larger(zone: ZonePlan, plan: AddressPlan) -> str:
    """Return the remedy: the required size of the whole block, of which the AZ has a part."""
    largest = address_facts().largest_block_prefix
    if zone.prefix_needed is None and (smaller := _smaller(zone)):
        return f"write {smaller}: a subnet is at most a /{largest}"
    if zone.prefix_needed is None:
        return f"spread the nodes over several AZs: a subnet is at most a /{largest}"
    if plan.existing:
        return f"use a subnet with a /{zone.prefix_needed} or larger, or fewer nodes"
    slots, _ = compute_slot(plan.zones.index(zone))
    share = "half" if slots == 2 else f"one part in {slots}"
    block = zone.prefix_needed - (slots - 1).bit_length()
    if block < largest and (smaller := _smaller(zone)):
        return f"write {smaller}: {zone.availability_zone_id} gets at most {share} of a /{largest}"
    if block < largest:
        return (
            f"write the AZ with the most nodes first in a new network, or use fewer nodes: {zone.availability_zone_id} "
            f"needs a /{zone.prefix_needed}, and gets at most {share} of a /{largest}"
        )
    smaller = _smaller(zone)
    return (
        f"set compute_cidr to a /{block} or larger{f', or write {smaller}' if smaller else ''}: "
        f"{zone.availability_zone_id} gets {share} of it and needs a /{zone.prefix_needed}"
    )


def _smaller(zone: ZonePlan) -> str:
    """Return how to make the claim smaller that needs most of the addresses; empty if there is none."""
    most = (claim for claim in zone.claims if claim.smaller and 2 * claim.addresses > zone.addresses_needed)
    return next((claim.smaller for claim in most), "")


def _over_quota(zone: ZonePlan, plan: AddressPlan, region: str | None) -> Problem:
    facts, smaller = address_facts(), _smaller(zone)
    return Problem(
        code=Code.INTERFACE_QUOTA,
        path=("interface_quota",),
        message=f"{zone.availability_zone_id} needs {zone.interfaces} network interfaces, and the quota "
        f"{facts.interface_quota_name!r} ({facts.interface_quota_code}) allows {plan.interface_quota}",
        value=plan.interface_quota,
        allowed=f"{zone.interfaces} or more, after AWS has increased the quota",
        remedy=f"{f'write {smaller}, or ' if smaller else ''}request an increase with "
        "`aws service-quotas request-service-quota-increase --service-code vpc "
        f"--quota-code {facts.interface_quota_code} --desired-value {zone.interfaces} "
        f"--region {region or '<region>'}`, then set interface_quota to the new quota",
    )
