"""The machines of the plan, and what they bring along."""

from typing import Any

from llm_fleet.cli.plan.numbers import count_range
from llm_fleet.cli.plan.section import Section
from llm_fleet.cli.terminal.table import Cell, Column, Table
from llm_fleet.config.fleet import Fleet
from llm_fleet.needs.machine import Machines
from llm_fleet.needs.machine_facts import MachineFacts, facts_of_machines
from llm_fleet.needs.machines import machines_of

_COLUMNS = (
    Column(key="owner", title="OWNER"),
    Column(key="type", title="TYPE", wraps=True),
    Column(key="count", title="COUNT", right=True),
    Column(key="vcpus", title="VCPUS", right=True),
    Column(key="accelerators", title="ACCELERATORS", right=True),
    Column(key="memory", title="THEIR MEMORY", right=True),
    Column(key="efa", title="EFA A NODE", right=True),
    Column(key="capacity", title="CAPACITY"),
)


def machines_section(fleet: Fleet) -> Section:
    """Return every kind of machines by owner, and the whole of what they have when all of them run."""
    found = [(machines, facts_of_machines(machines)) for machines in machines_of(fleet)]
    told = [(machines, facts) for machines, facts in found if machines.count]
    table = Table(columns=_COLUMNS, rows=[_row(machines, facts) for machines, facts in told])
    totals = _totals(told)
    return Section(
        key="machines",
        title="Machines",
        parts=[table, _in_words(totals)] if told else ["none"],
        data={"groups": [_data(machines, facts) for machines, facts in found], "at_most": totals},
    )


def _row(machines: Machines, facts: MachineFacts | None) -> dict[str, Cell]:
    row: dict[str, Cell] = {
        "owner": machines.owner,
        "type": ", ".join(machines.instance_types) or "by the capacity block",
        "count": count_range(machines.minimum, machines.count),
        "capacity": str(machines.capacity),
    }
    if facts is None:
        return {**row, "vcpus": "unknown"}
    if facts.vcpus is not None:
        row["vcpus"] = f"{facts.vcpus * machines.count:,}"
    if facts.accelerators:
        row["accelerators"] = f"{facts.accelerators * machines.count:,} {facts.accelerator}"
        gib = facts.accelerator_gib
        row["memory"] = "unknown" if gib is None else f"{gib * machines.count:,} GiB"
    if facts.efa_interfaces:
        row["efa"] = "unknown" if facts.efa_gbps is None else f"{facts.efa_gbps:g} Gbit/s"
    return row


def _totals(told: list[tuple[Machines, MachineFacts | None]]) -> dict[str, Any]:
    known = [(machines.count, facts) for machines, facts in told if facts is not None]
    return {
        "machines": sum(machines.count for machines, _ in told),
        "vcpus": sum(count * (facts.vcpus or 0) for count, facts in known),
        "accelerators": sum(count * facts.accelerators for count, facts in known),
        "accelerator_memory_gib": sum(count * (facts.accelerator_gib or 0) for count, facts in known),
        "efa_gbps": sum(count * (facts.efa_gbps or 0) for count, facts in known),
        "unknown_types": sorted({machines.instance_type for machines, facts in told if facts is None}),
    }


def _in_words(totals: dict[str, Any]) -> str:
    parts = [f"{totals['machines']:,} machines at most, with {totals['vcpus']:,} vCPUs"]
    if totals["accelerators"]:
        memory = f" of {totals['accelerator_memory_gib']:,} GiB" if totals["accelerator_memory_gib"] else ""
        parts.append(f"{totals['accelerators']:,} accelerators{memory}")
    if totals["efa_gbps"]:
        parts.append(f"{totals['efa_gbps'] / 1000:g} Tbit/s of EFA in all")
    text = "; ".join(parts)
    unknown = [name or "a capacity block's" for name in totals["unknown_types"]]
    return f"{text}; not counted, as the catalog does not know them: {', '.join(unknown)}" if unknown else text


def _data(machines: Machines, facts: MachineFacts | None) -> dict[str, Any]:
    return {
        "owner": machines.owner,
        "path": list(machines.path),
        "service": str(machines.service),
        "instance_types": list(machines.instance_types),
        "minimum": machines.minimum,
        "maximum": machines.count,
        "availability_zone_ids": list(machines.availability_zone_ids),
        "capacity": str(machines.capacity),
        "capacity_id": machines.capacity_id,
        "each": None
        if facts is None
        else {
            "vcpus": facts.vcpus,
            "memory_gib": facts.memory_gib,
            "accelerator": facts.accelerator,
            "accelerators": facts.accelerators,
            "accelerator_memory_gib": facts.accelerator_gib,
            "efa_interfaces": facts.efa_interfaces,
            "efa_gbps": facts.efa_gbps,
        },
    }
