"""Costs of a fleet: the user's prices, prices from AWS, and the section of the plan."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from llm_fleet.catalog.ec2_instances import Price, PriceTable, hours_of_a_month, prices
from llm_fleet.cli.plan.fleet_sections import Section, as_number, dollars_range
from llm_fleet.cli.plan.price_file import RefreshedPrices, prices_text, read_prices
from llm_fleet.cli.screen import Tone, Toned
from llm_fleet.cli.table import Cell, Column, Table
from llm_fleet.cli.verb import refuse
from llm_fleet.cli.write_files import reason_of, write_file
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.named_files.account_file import facts_next_to
from llm_fleet.needs.fleet_cost import NOT_IN_THE_PRICE, CostLine, FleetCost, cost_of
from llm_fleet.rules.feature_codes import PlanCode
from llm_fleet.rules.problem import FleetError


def price_table(fleet: Fleet, arguments: argparse.Namespace) -> PriceTable:
    """Return the shipped prices, overridden by the account's facts and by `--prices` or the user's cache.

    Of the account's facts and the cache, the price with the newer date is used; `--prices` overrides both. Raises
    `FleetError` (LF1083, LF1241) for an invalid file, and `AwsRefusal`.
    """
    named: Path | None = arguments.prices
    place = named or _cache()
    account = facts_next_to(arguments.file)
    found = [] if account is None else list(account.prices)
    if arguments.refresh_prices:
        _refresh(fleet, place)
    if named is not None or place.is_file():
        found += read_prices(place)
    return prices().with_prices(found if named is not None else sorted(found, key=lambda one: one.read))


def _refresh(fleet: Fleet, place: Path) -> None:
    """Get prices from AWS, add them to those in the file `place`, and print those that AWS does not have."""
    found = RefreshedPrices(cost_of(fleet, prices()).lines, fleet.region)
    table = PriceTable.of(_kept(place)).with_prices(found.prices)
    text = prices_text(table.prices.values())
    _make_folder(place.parent)
    write_file(place, text, force=True)
    print(f"wrote {len(found.prices)} prices to {place}", file=sys.stderr)
    for unknown in found.unknown:
        print(f"not refreshed: {unknown}", file=sys.stderr)


def _kept(place: Path) -> list[Price]:
    """Return the prices of the file; none if it is invalid: it is overwritten."""
    try:
        return read_prices(place)
    except FleetError:
        return []


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(
            PlanCode.PRICE_FILE,
            f"cannot create the directory: {reason_of(error)}",
            "set a file with --prices",
            subject=str(folder),
        )


def _cache() -> Path:
    """Return the file of refreshed prices, in the user's cache by the XDG rules."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "llm-fleet" / "prices.json"


_COST_COLUMNS = (
    Column(key="owner", title="OWNER"),
    Column(key="what", title="WHAT", wraps=True),
    Column(key="count", title="COUNT", right=True),
    Column(key="price", title="PRICE", right=True),
    Column(key="hour", title="PER HOUR", right=True),
    Column(key="month", title="PER MONTH", right=True),
    Column(key="source", title="PRICE FROM"),
)
_NOT_KNOWN = "no price known"
_NAMED = 3
_UNITS = {"hour": "/h", "gb-month": "/GB-month"}


def cost_section(cost: FleetCost) -> Section:
    """Return the hourly and monthly cost, what the total does not include, and the sources of the prices."""
    return Section(
        key="cost",
        title=f"Cost in {cost.region}, USD",
        parts=[
            Table(columns=_COST_COLUMNS, rows=[_cost_row(line) for line in cost.lines]),
            *_sums(cost),
            *_remarks(cost),
            f"not included: {'; '.join(NOT_IN_THE_PRICE)}",
        ],
        data=_cost_data(cost),
    )


def _cost_row(line: CostLine) -> dict[str, Cell]:
    low, high = line.hourly_minimum, line.hourly_maximum
    row: dict[str, Cell] = {
        "owner": line.owner,
        "what": f"{line.what} ({line.note})" if line.note else line.what,
        "count": _count(line),
    }
    if low is None or high is None:
        return {**row, "price": Toned(_NOT_KNOWN, Tone.WARNING)}
    if line.price is not None:
        row["price"] = f"${line.price.usd.normalize():f}{_UNITS[line.price.unit]}"
        row["source"] = f"{line.price.region} {line.price.read}"
    month = hours_of_a_month()
    return {**row, "hour": dollars_range(low, high), "month": dollars_range(low * month, high * month)}


def _count(line: CostLine) -> str:
    """Return the number of items with its unit, e.g. `4800 GiB` or `0.5 to 4 ACUs`."""
    count = f"{line.minimum:f}" if line.minimum == line.maximum else f"{line.minimum:f} to {line.maximum:f}"
    return f"{count} {line.unit}".rstrip()


def _sums(cost: FleetCost) -> list[Toned]:
    month, low, high = hours_of_a_month(), cost.hourly_minimum, cost.hourly_maximum
    hour = f"{dollars_range(low, high)} per hour"
    reported = f"{hour}, {dollars_range(low * month, high * month)} per month of {month} hours"
    rows = "all rows with a known price" if cost.unpriced else "all rows"
    rows += "" if low == high else ", from the minimum to the maximum counts"
    return [Toned(f"total cost of {rows}: {reported}", Tone.STRONG)]


def _remarks(cost: FleetCost) -> list[Toned]:
    remarks: list[str] = []
    if cost.unpriced:
        remarks.append(f"no price known: {_names(cost.unpriced)}")
    if cost.of_another_region:
        where = ", ".join(sorted({line.price.region for line in cost.of_another_region if line.price}))
        remarks.append(
            f"at the price of {where}, because the price in {cost.region} is unknown: {_names(cost.of_another_region)}"
        )
    if cost.unverified:
        oldest = min(line.price.read for line in cost.unverified if line.price is not None)
        priced = sum(line.price is not None for line in cost.lines)
        which = "all" if len(cost.unverified) == priced else "some"
        remarks.append(f"{which} prices are from public sources, not from AWS itself; the oldest was read on {oldest}")
    if remarks:
        remarks.append(
            "for the current prices of this fleet in its Region run `llm-fleet facts refresh`, which writes them to a "
            "file of your project, or `llm-fleet plan --refresh-prices` for this machine only"
        )
    return [Toned(remark, Tone.WARNING) for remark in remarks]


def _names(lines: tuple[CostLine, ...]) -> str:
    """Return all names if they are few, otherwise the first ones: the table has all."""
    names = list(dict.fromkeys(f"{line.what} of {line.owner}" for line in lines))
    if len(names) <= _NAMED + 1:
        return "; ".join(names)
    return "; ".join([*names[:_NAMED], f"and {len(names) - _NAMED} more rows of the table"])


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
        "unit": line.unit or None,
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
