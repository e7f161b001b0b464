"""Sections of a plan on money: prices of machines, and sizes of Lustre."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llm_fleet.catalog.lustre import lustre_need_facts
from llm_fleet.catalog.prices import hours_of_a_month
from llm_fleet.cli.plan.fleet_sections import Section, as_number, dollars_range
from llm_fleet.cli.terminal.screen import Tone, Toned
from llm_fleet.cli.terminal.table import Cell, Column, Table
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.fleet_cost import NOT_IN_THE_PRICE, CostLine, FleetCost
from llm_fleet.needs.lustre import CheckpointNeed, LustreSupply, lustre_supply
from llm_fleet.needs.machines import MachineService, machines_of

if TYPE_CHECKING:
    from llm_fleet.jobs.training_run import TrainingRun


_COST_COLUMNS = (
    Column(key="owner", title="OWNER"),
    Column(key="what", title="WHAT", wraps=True),
    Column(key="count", title="HOW MANY", right=True),
    Column(key="price", title="PRICE", right=True),
    Column(key="hour", title="AN HOUR", right=True),
    Column(key="month", title="A MONTH", right=True),
    Column(key="source", title="OF"),
)
_NOT_KNOWN = "no price known"
_NAMED = 3
_UNITS = {"hour": "/h", "gb-month": "/GB-month"}


def cost_section(cost: FleetCost) -> Section:
    """Return what a fleet costs an hour and a month, what the sum leaves out, and where its prices come from."""
    return Section(
        key="cost",
        title=f"Cost in {cost.region}, USD",
        parts=[
            Table(columns=_COST_COLUMNS, rows=[_cost_row(line) for line in cost.lines]),
            *_sums(cost),
            *_remarks(cost),
            f"not in it: {'; '.join(NOT_IN_THE_PRICE)}",
        ],
        data=_cost_data(cost),
    )


def _cost_row(line: CostLine) -> dict[str, Cell]:
    low, high = line.hourly_minimum, line.hourly_maximum
    row: dict[str, Cell] = {
        "owner": line.owner,
        "what": f"{line.what} ({line.note})" if line.note else line.what,
        "count": f"{line.minimum:f}" if line.minimum == line.maximum else f"{line.minimum:f} to {line.maximum:f}",
    }
    if low is None or high is None:
        return {**row, "price": Toned(_NOT_KNOWN, Tone.WARNING)}
    if line.price is not None:
        row["price"] = f"${line.price.usd.normalize():f}{_UNITS[line.price.unit]}"
        row["source"] = f"{line.price.region} {line.price.read}"
    month = hours_of_a_month()
    return {**row, "hour": dollars_range(low, high), "month": dollars_range(low * month, high * month)}


def _sums(cost: FleetCost) -> list[Toned]:
    month, low, high = hours_of_a_month(), cost.hourly_minimum, cost.hourly_maximum
    hour = f"{dollars_range(low, high)} an hour"
    told = f"{hour}, {dollars_range(low * month, high * month)} a month of {month} hours"
    without = "; what has no price is left out" if cost.unpriced else ""
    return [Toned(f"together: {told}{without}", Tone.STRONG)]


def _remarks(cost: FleetCost) -> list[Toned]:
    remarks: list[str] = []
    if cost.unpriced:
        remarks.append(f"no price known: {_names(cost.unpriced)}")
    if cost.of_another_region:
        where = ", ".join(sorted({line.price.region for line in cost.of_another_region if line.price}))
        remarks.append(f"at the price of {where}, as none of {cost.region} is known: {_names(cost.of_another_region)}")
    if cost.unverified:
        oldest = min(line.price.read for line in cost.unverified if line.price is not None)
        remarks.append(f"prices read since {oldest} at places other than AWS's own price list")
    if remarks:
        remarks.append("`llm-fleet plan --refresh-prices` asks AWS for what this fleet needs, in its region")
    return [Toned(remark, Tone.WARNING) for remark in remarks]


def _names(lines: tuple[CostLine, ...]) -> str:
    """Name the first few: the table has them all."""
    names = list(dict.fromkeys(f"{line.what} of {line.owner}" for line in lines))
    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])


def _cost_data(cost: FleetCost) -> dict[str, Any]:
    month = hours_of_a_month()
    return {
        "currency": "USD",
        "region": cost.region,
        "hours_of_a_month": month,
        "hour": {"minimum": as_number(cost.hourly_minimum), "maximum": as_number(cost.hourly_maximum)},
        "month": {"minimum": as_number(cost.hourly_minimum * month), "maximum": as_number(cost.hourly_maximum * month)},
        "complete": not cost.unpriced,
        "not_in_the_price": list(NOT_IN_THE_PRICE),
        "lines": [_line_data(line) for line in cost.lines],
    }


def _line_data(line: CostLine) -> dict[str, Any]:
    price = line.price
    return {
        "owner": line.owner,
        "what": line.what,
        "item": line.item,
        "minimum": as_number(line.minimum),
        "maximum": as_number(line.maximum),
        "hour_minimum": as_number(line.hourly_minimum),
        "hour_maximum": as_number(line.hourly_maximum),
        "paid_before": line.paid_before,
        "note": line.note or None,
        "price": None
        if price is None
        else {
            "usd": float(price.usd),
            "unit": price.unit,
            "region": price.region,
            "read": price.read,
            "source": price.source,
            "verified": price.verified,
        },
    }


_LUSTRE_COLUMNS = (
    Column(key="run", title="RUN"),
    Column(key="nodes", title="NODES", right=True),
    Column(key="checkpoint", title="CHECKPOINT", right=True),
    Column(key="seconds", title="WRITTEN IN", right=True),
    Column(key="wanted", title="WANTS", right=True),
    Column(key="verdict", title=""),
)
_CLUSTERS = (MachineService.HYPERPOD, MachineService.PARALLELCLUSTER)
_GB = 1000**3


def lustre_section(fleet: Fleet) -> Section | None:
    """Return the section; `None` where the fleet makes no Lustre file system."""
    supply = lustre_supply(fleet)
    if supply is None:
        return None
    nodes = sum(machines.count for machines in machines_of(fleet) if machines.service in _CLUSTERS)
    needs = list(_needs(fleet, supply))
    return Section(
        key="lustre",
        title="Lustre",
        parts=[
            _in_words(supply, nodes),
            *([Table(columns=_LUSTRE_COLUMNS, rows=[_lustre_row(need) for need in needs]), _rule()] if needs else []),
            *(
                Toned(f"remark: {need.run}: {need.remedy} under storage.fsx", Tone.WARNING)
                for need in needs
                if need.short
            ),
        ],
        data=_lustre_data(supply, nodes, needs),
    )


def _needs(fleet: Fleet, supply: LustreSupply) -> list[CheckpointNeed]:
    if not fleet.jobs:
        return []
    from llm_fleet.jobs.render_run import training_runs
    from llm_fleet.rules.training.run_sources import checkpoint_bytes

    runs: Mapping[str, TrainingRun] = training_runs(fleet)
    return [
        CheckpointNeed(
            run=name,
            nodes=run.plan.nodes,
            checkpoint_bytes=checkpoint_bytes(run.plan, run.shape.parameters),
            supply=supply,
        )
        for name, run in runs.items()
        if run.shape is not None
    ]


def _in_words(supply: LustreSupply, nodes: int) -> str:
    whole = f"{supply.mb_per_second:,} MB/s for all nodes together"
    return (
        f"{whole}; {supply.mb_per_second / nodes:,.0f} MB/s for each of {nodes:,} when all read at once"
        if nodes
        else whole
    )


def _rule() -> str:
    minutes = lustre_need_facts().checkpoint_minutes
    return (
        f"wants: a checkpoint in {minutes} minutes, a rule of thumb without a source; training stands still meanwhile"
    )


def _lustre_row(need: CheckpointNeed) -> dict[str, Cell]:
    return {
        "run": need.run,
        "nodes": need.nodes,
        "checkpoint": f"{need.checkpoint_bytes / _GB:,.0f} GB",
        "seconds": f"{need.seconds:,.0f} s",
        "wanted": f"{need.wanted_mb_per_second:,} MB/s",
        "verdict": Toned("short", Tone.WARNING) if need.short else Toned("enough", Tone.GOOD),
    }


def _lustre_data(supply: LustreSupply, nodes: int, needs: list[CheckpointNeed]) -> dict[str, Any]:
    return {
        "mb_per_second": supply.mb_per_second,
        "nodes": nodes,
        "checkpoint_minutes": lustre_need_facts().checkpoint_minutes,
        "runs": [
            {
                "run": need.run,
                "nodes": need.nodes,
                "checkpoint_bytes": need.checkpoint_bytes,
                "seconds": round(need.seconds, 1),
                "wanted_mb_per_second": need.wanted_mb_per_second,
                "short": need.short,
                "remedy": need.remedy if need.short else None,
            }
            for need in needs
        ],
    }
