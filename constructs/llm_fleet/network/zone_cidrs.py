"""Works out the CIDR of each subnet, at synth or, for blocks known only at deploy time, in CloudFormation."""

import aws_cdk as cdk

from llm_fleet.catalog.addresses import address_facts
from llm_fleet.network.zone import ZoneCidrs
from llm_fleet.rules.network_layout import compute_slots, primary_slots, private_slot, public_slot, slice_cidr
from llm_fleet.rules.tokens import is_unresolved


def zone_cidrs(cidr: str, compute_cidr: str, *, zone: int, zones: int) -> ZoneCidrs:
    """Return the CIDRs of the AZ at index `zone` of `zones`. A token is taken as the largest block, a /16."""
    return ZoneCidrs(
        private=_part(cidr, primary_slots(), private_slot(zone)),
        public=_part(cidr, primary_slots(), public_slot(zone)),
        compute=_part(compute_cidr, compute_slots(zones), zone),
    )


def _part(cidr: str, slots: int, slot: int) -> str:
    if not is_unresolved(cidr):
        return slice_cidr(cidr, slots, slot)
    if slots == 1:
        return cidr
    host_bits = 32 - address_facts().largest_block_prefix - (slots - 1).bit_length()
    return cdk.Fn.select(slot, cdk.Fn.cidr(cidr, slots, str(host_bits)))
