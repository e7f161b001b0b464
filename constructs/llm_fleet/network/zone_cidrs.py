"""Works out the CIDR of each subnet, at synth or, for blocks known only at deploy time, in CloudFormation."""

import aws_cdk as cdk

from llm_fleet.catalog.network import address_facts
from llm_fleet.network.zone import ZoneCidrs
from llm_fleet.rules.codes import Code
from llm_fleet.rules.network_layout import (
    compute_slot,
    database_slots,
    load_balancer_zone,
    primary_slots,
    private_slot,
    public_slot,
    slice_cidr,
)
from llm_fleet.rules.problem import Problem, raise_problems
from llm_fleet.rules.tokens import is_unresolved


def zone_cidrs(cidr: str, compute_cidr: str, *, zone: int) -> ZoneCidrs:
    """Return the CIDRs of the AZ at index `zone`. A token is taken as the largest block, a /16."""
    return ZoneCidrs(
        private=_part(cidr, primary_slots(), private_slot(zone)),
        public=_part(cidr, primary_slots(), public_slot(zone)),
        compute=_part(compute_cidr, *compute_slot(zone)),
    )


def database_cidrs(cidr: str, *, zones: int, subject: str) -> list[str]:
    """Return the CIDRs of the two subnets for databases, beside those of `zones` AZs; raise `FleetError` (LF699)."""
    slots = database_slots()
    if zones > slots[0]:
        raise_problems(
            [
                Problem(
                    code=Code.DATABASE_SUBNETS,
                    path=("availability_zone_ids",),
                    value=zones,
                    message=f"a network of {zones} AZs has no room for the subnets of a database",
                    allowed=f"up to {slots[0]} AZs",
                    remedy="name subnets of your own for the database, as `subnets`",
                )
            ],
            subject=subject,
        )
    return [_part(cidr, primary_slots(), private_slot(slot)) for slot in slots]


def load_balancer_cidrs(cidr: str, *, index: int) -> tuple[str, str]:
    """Return the CIDRs of the private and of the public subnet of the AZ at `index` for load balancers alone."""
    private, public = load_balancer_zone(index)
    return (
        _part(cidr, primary_slots(), private_slot(private)),
        _part(cidr, primary_slots(), public_slot(public)),
    )


def _part(cidr: str, slots: int, slot: int) -> str:
    if not is_unresolved(cidr):
        return slice_cidr(cidr, slots, slot)
    host_bits = 32 - address_facts().largest_block_prefix - (slots - 1).bit_length()
    return cdk.Fn.select(slot, cdk.Fn.cidr(cidr, slots, str(host_bits)))
