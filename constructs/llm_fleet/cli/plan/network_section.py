"""The addresses and network interfaces of the plan."""

from typing import Any

from llm_fleet.catalog.network import address_facts
from llm_fleet.cli.plan.section import Section
from llm_fleet.cli.terminal.table import Cell, Column, Table
from llm_fleet.config.check_places import address_plan
from llm_fleet.config.fleet import Fleet
from llm_fleet.rules.addresses import AddressPlan
from llm_fleet.rules.network_zone_plan import ZonePlan

_COLUMNS = (
    Column(key="zone", title="AZ"),
    Column(key="subnet", title="COMPUTE SUBNET"),
    Column(key="addresses", title="ADDRESSES TAKEN", right=True),
    Column(key="needed", title="NEEDED", right=True),
    Column(key="given", title="GIVEN", right=True),
    Column(key="interfaces", title="INTERFACES", right=True),
    Column(key="quota", title="OF QUOTA", right=True),
)


def network_section(fleet: Fleet) -> Section:
    """Return what all nodes take of the compute subnets and of the quota of network interfaces, by AZ."""
    title = "Addresses and network interfaces"
    if fleet.network is None:
        return Section(key="network", title=title, parts=["the fleet has no network of its own"])
    plan = address_plan(fleet, fleet.network)
    facts = address_facts()
    quota = f"quota of interfaces: {facts.interface_quota_name} ({facts.interface_quota_code}), counted in each AZ"
    needed = f"needed: those taken, room to replace one node, and {facts.reserved_per_subnet} that AWS keeps"
    return Section(
        key="network",
        title=title,
        parts=[
            Table(columns=_COLUMNS, rows=[_row(zone, plan) for zone in plan.zones]),
            f"{needed}; {quota}",
            *plan.assumptions,
        ],
        data=_data(plan),
    )


def _row(zone: ZonePlan, plan: AddressPlan) -> dict[str, Cell]:
    given = zone.addresses_given
    return {
        "zone": zone.availability_zone_id,
        "subnet": zone.subnet_cidr or "size unknown",
        "addresses": f"{zone.addresses:,}",
        "needed": f"{zone.addresses_needed:,}",
        "given": "unknown" if given is None else f"{given:,}",
        "interfaces": f"{zone.interfaces:,} of {plan.interface_quota:,}",
        "quota": f"{plan.quota_share(zone):.1%}",
    }


def _data(plan: AddressPlan) -> dict[str, Any]:
    return {
        "interface_quota": {"code": address_facts().interface_quota_code, "value": plan.interface_quota},
        "zones": [
            {
                "availability_zone_id": zone.availability_zone_id,
                "compute_subnet": zone.subnet_cidr,
                "addresses_taken": zone.addresses,
                "addresses_needed": zone.addresses_needed,
                "addresses_given": zone.addresses_given,
                "interfaces": zone.interfaces,
                "claims": [
                    {"owner": claim.owner, "what": claim.what, "addresses": claim.addresses} for claim in zone.claims
                ],
            }
            for zone in plan.zones
        ],
        "assumptions": list(plan.assumptions),
    }
