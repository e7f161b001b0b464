"""What the plan costs."""

from typing import Any

from llm_fleet.catalog.prices import hours_of_a_month
from llm_fleet.cli.plan.numbers import as_number, dollars_range
from llm_fleet.cli.plan.section import Section
from llm_fleet.cli.terminal.table import Cell, Column, Table
from llm_fleet.cli.terminal.tone import Tone, Toned
from llm_fleet.needs.cost_line import CostLine
from llm_fleet.needs.fleet_cost import NOT_IN_THE_PRICE, FleetCost

_COLUMNS = (
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
            Table(columns=_COLUMNS, rows=[_row(line) for line in cost.lines]),
            *_sums(cost),
            *_remarks(cost),
            f"not in it: {'; '.join(NOT_IN_THE_PRICE)}",
        ],
        data=_data(cost),
    )


def _row(line: CostLine) -> dict[str, Cell]:
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


def _data(cost: FleetCost) -> dict[str, Any]:
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
