"""Costs of a fleet: the user's prices, prices from AWS, and the section of the plan."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_fleet.catalog.ec2_instances import (
    Price,
    PriceQuestion,
    PriceTable,
    hours_of_a_month,
    price_list_region,
    price_question,
    prices,
)
from llm_fleet.cli.clients import AwsClients, aws_errors_reported
from llm_fleet.cli.plan.fleet_sections import Section, as_number, dollars_range
from llm_fleet.cli.screen import Tone, Toned, progress
from llm_fleet.cli.table import Cell, Column, Table
from llm_fleet.cli.verb import refuse
from llm_fleet.cli.write_files import reason_of, write_file
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.fleet_cost import NOT_IN_THE_PRICE, CostLine, FleetCost, cost_of
from llm_fleet.rules.feature_codes import PlanCode
from llm_fleet.rules.problem import FleetError

if TYPE_CHECKING:
    pass


def prices_in(products: Sequence[Any], unit: str) -> tuple[set[Decimal], str]:
    """Return every on-demand price in USD for `unit` in `products`, and its newest date.

    Prices of 0, e.g. of reserved usage, are left out. Raises `FleetError` (LF1084) for a response of another shape.
    """
    try:
        read = [json.loads(one) if isinstance(one, str) else one for one in products]
        found = {usd for product in read for usd in _on_demand(product, unit)}
        return found, max((str(product["publicationDate"])[:10] for product in read), default="")
    except (ValueError, KeyError, TypeError, AttributeError, InvalidOperation) as error:
        refuse(
            PlanCode.PRICE_LIST,
            f"cannot parse the response of the AWS Price List: {type(error).__name__}: {error}",
            "remove --refresh-prices: the stored prices are not changed",
        )


def _on_demand(product: Any, unit: str) -> Iterator[Decimal]:
    for term in product["terms"].get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            usd = Decimal(dimension["pricePerUnit"].get("USD", "0"))
            if dimension["unit"] == unit and usd.is_finite() and usd > 0:
                yield usd


_FORMAT = 1
_FILE_UNITS = ("hour", "gb-month")
_TEXTS = ("service", "item", "region", "source")


def price_table(fleet: Fleet, arguments: argparse.Namespace) -> PriceTable:
    """Return the shipped prices, overridden by those of `--prices` or of the user's cache, refreshed on request.

    Raises `FleetError` (LF1083) for an invalid file, and `AwsRefusal`.
    """
    named: Path | None = arguments.prices
    place = named or _cache()
    if arguments.refresh_prices:
        return _refreshed(fleet, place)
    if named is None and not place.is_file():
        return prices()
    return prices().with_prices(read_prices(place))


def read_prices(path: Path) -> list[Price]:
    """Return the prices of a file that `--refresh-prices` wrote. Raises `FleetError` (LF1083)."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            raise ValueError(f"unknown format {document['format']}")
        return [_price(entry) for entry in document["prices"]]
    except (OSError, ValueError, KeyError, TypeError, InvalidOperation) as error:
        refuse(
            PlanCode.PRICE_FILE,
            f"not a valid price table: {type(error).__name__}: {error}",
            "use a file of --refresh-prices, or write it again with --refresh-prices",
            subject=str(path),
        )


def prices_text(found: Iterable[Price]) -> str:
    """Return the text of a price file with `found`."""
    entries = [
        {
            "service": one.service,
            "item": one.item,
            "region": one.region,
            "unit": one.unit,
            "usd": f"{one.usd.normalize():f}",
            "source": one.source,
            "read": one.read,
            "verified": one.verified,
        }
        for one in found
    ]
    return json.dumps({"format": _FORMAT, "prices": entries}, indent=1) + "\n"


def _refreshed(fleet: Fleet, place: Path) -> PriceTable:
    """Get prices from AWS, add them to the stored prices, and print those that AWS does not have."""

    found = RefreshedPrices(cost_of(fleet, prices()).lines, fleet.region)
    table = PriceTable.of(_kept(place)).with_prices(found.prices)
    text = prices_text(table.prices.values())
    _make_folder(place.parent)
    write_file(place, text, force=True)
    print(f"wrote {len(found.prices)} prices to {place}", file=sys.stderr)
    for unknown in found.unknown:
        print(f"not refreshed: {unknown}", file=sys.stderr)
    return prices().with_prices(read_prices(place))


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


def _price(entry: dict[str, Any]) -> Price:
    usd = Decimal(entry["usd"])
    if not usd.is_finite() or usd < 0:
        raise ValueError(f"{entry['usd']} is not a price")
    if entry["unit"] not in _FILE_UNITS:
        raise ValueError(f"`{entry['unit']}` is not a unit; write {' or '.join(_FILE_UNITS)}")
    if not all(isinstance(entry[name], str) for name in _TEXTS) or not isinstance(entry["verified"], bool):
        raise ValueError("service, item, region and source must be texts, verified must be true or false")
    texts = {name: entry[name] for name in _TEXTS}
    read = date.fromisoformat(entry["read"]).isoformat()
    return Price(**texts, unit=entry["unit"], usd=usd, read=read, verified=entry["verified"])


_SOURCE = "AWS Price List, GetProducts"


class RefreshedPrices:
    """Prices from AWS for the items of a fleet, and items without a price."""

    def __init__(self, lines: Iterable[CostLine], region: str) -> None:
        """Query each item once. Raises `AwsRefusal`, or `FleetError` (LF1084) for an invalid response."""
        self.prices: list[Price] = []
        self.unknown: list[str] = []
        """Items for which AWS has no price or several, or for which there is no query."""
        wanted = {(line.services[0], line.item): line for line in lines if not line.paid_before and line.item}
        client = AwsClients(region=price_list_region()).client("pricing")
        with progress("querying the AWS Price List", total=len(wanted)) as step:
            for service, item in wanted:
                self._ask(client, service, item, region)
                step()

    def _ask(self, client: Any, service: str, item: str, region: str) -> None:
        question = price_question(service, item, region)
        if question is None:
            self.unknown.append(f"{item} ({service}): llm-fleet has no query for it")
            return
        found, day = prices_in(_products(client, question), question.unit)
        if len(found) != 1:
            several = f"{len(found)} prices" if found else "no price"
            self.unknown.append(f"{item} ({service}): AWS returns {several}")
            return
        price = Price(
            service=service,
            item=item,
            region=region,
            unit="hour",
            usd=found.pop(),
            source=_SOURCE,
            read=day,
            verified=True,
        )
        self.prices.append(price)


def _products(client: Any, question: PriceQuestion) -> list[Any]:
    filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in question.filters.items()]
    with aws_errors_reported("AWS Price List"):
        pages = client.get_paginator("get_products").paginate(ServiceCode=question.service_code, Filters=filters)
        return [product for page in pages for product in page["PriceList"]]


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
        remarks.append("run `llm-fleet plan --refresh-prices` for the current prices of this fleet in its Region")
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
