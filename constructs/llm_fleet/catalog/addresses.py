"""Facts about what takes addresses and network interfaces in a VPC, and how many there may be."""

from dataclasses import dataclass
from functools import cache

from llm_fleet.catalog.data_file import load


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationRule:
    """What AWS refuses as a further CIDR block of a VPC."""

    primary: str
    """Where the VPC's first block lies."""
    refused: tuple[str, ...]
    """Where a further block may not lie then."""
    instead: str
    """Where it may, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressFacts:
    """Sizes and limits of subnets, and what each kind of resource takes of them."""

    reserved_per_subnet: int
    """Addresses that AWS keeps of every subnet: the first four and the last."""
    largest_block_prefix: int
    """Prefix length of the largest VPC CIDR block and subnet."""
    smallest_block_prefix: int
    """Prefix length of the smallest VPC CIDR block and subnet."""
    docker_bridge: str
    """The range of Docker's bridge on every node: AWS warns against it in a VPC of SageMaker."""
    most_zones: int
    """AZs that the layout of the primary CIDR has room for."""
    addresses_of_unknown_instance: int
    """What an instance whose network cards no source tells is taken to need."""
    addresses_of_file_system: int
    """What an FSx file system needs at the least."""
    addresses_of_serving_host: int
    """What an ECS host and the one serving task on it need: each has an interface of its own."""
    interface_quota: int
    """Default of the quota of network interfaces; AWS enforces it in each AZ."""
    interface_quota_code: str
    interface_quota_name: str
    private_ranges: tuple[str, ...]
    """RFC 1918 and RFC 6598 (100.64.0.0/10)."""
    log_retention_days: tuple[int, ...]
    """For how many days CloudWatch Logs can keep a log."""
    association_rules: tuple[AssociationRule, ...]
    """All whose `primary` holds the first block count; the first that refuses is told."""


@cache
def address_facts() -> AddressFacts:
    """Return the facts, read once a process."""
    facts = dict(load("addresses"))
    rules = tuple(
        AssociationRule(primary=rule["primary"], refused=tuple(rule["refused"]), instead=rule["instead"])
        for rule in facts.pop("association_rules")
    )
    lists = {name: tuple(facts.pop(name)) for name in ("private_ranges", "log_retention_days")}
    return AddressFacts(association_rules=rules, **lists, **facts)
