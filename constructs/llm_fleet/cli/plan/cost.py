"""What a fleet costs: prices of the user's own, a new file of them from AWS, and the section of a plan."""

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
    """Return every price on demand in USD for `unit` that `products` tell, and the newest date of them.

    Prices of 0, such as those of reserved use, are none. Raises `FleetError` (LF1084) for an answer of another shape.
    """
    try:
        read = [json.loads(one) if isinstance(one, str) else one for one in products]
        found = {usd for product in read for usd in _on_demand(product, unit)}
        return found, max((str(product["publicationDate"])[:10] for product in read), default="")
    except (ValueError, KeyError, TypeError, AttributeError, InvalidOperation) as error:
        refuse(
            PlanCode.PRICE_LIST,
            f"the answer of AWS's Price List cannot be read: {type(error).__name__}: {error}",
            "try without --refresh-prices; the prices that were there stay",
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
    """Return the shipped prices, and in their place those of `--prices` or of the user's cache, refreshed if asked for.

    Raises `FleetError` (LF1083) for a file that is none, and what AWS refuses when it is asked.
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
            raise ValueError(f"format {document['format']} is not known")
        return [_price(entry) for entry in document["prices"]]
    except (OSError, ValueError, KeyError, TypeError, InvalidOperation) as error:
        refuse(
            PlanCode.PRICE_FILE,
            f"this is no table of prices: {type(error).__name__}: {error}",
            "name one that --refresh-prices wrote, or write it anew with --refresh-prices",
            subject=str(path),
        )


def prices_text(found: Iterable[Price]) -> str:
    """Return `found` as such a file's text."""
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
    """Ask AWS, keep what it tells with what was kept before, and say what it does not tell."""

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
    """Return what the file has; nothing of one that is broken, which is being written anew."""
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
            f"the folder cannot be made: {reason_of(error)}",
            "name a file with --prices",
            subject=str(folder),
        )


def _cache() -> Path:
    """Return where refreshed prices are kept: in the user's cache, by the XDG rules."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "llm-fleet" / "prices.json"


def _price(entry: dict[str, Any]) -> Price:
    usd = Decimal(entry["usd"])
    if not usd.is_finite() or usd < 0:
        raise ValueError(f"{entry['usd']} is no price")
    if entry["unit"] not in _FILE_UNITS:
        raise ValueError(f"{entry['unit']!r} is no unit; {' and '.join(_FILE_UNITS)} are")
    if not all(isinstance(entry[name], str) for name in _TEXTS) or not isinstance(entry["verified"], bool):
        raise ValueError("service, item, region and source are texts, verified is true or false")
    texts = {name: entry[name] for name in _TEXTS}
    read = date.fromisoformat(entry["read"]).isoformat()
    return Price(**texts, unit=entry["unit"], usd=usd, read=read, verified=entry["verified"])


_SOURCE = "AWS Price List, GetProducts"


class RefreshedPrices:
    """What AWS asks for the things of a fleet, and what it did not tell."""

    def __init__(self, lines: Iterable[CostLine], region: str) -> None:
        """Ask for each thing once. Raises `AwsRefusal`, or `FleetError` (LF1084) for an answer that cannot be read."""
        self.prices: list[Price] = []
        self.unknown: list[str] = []
        """What AWS's answer has no price of, or several; and what nobody knows how to ask for."""
        wanted = {(line.services[0], line.item): line for line in lines if not line.paid_before and line.item}
        client = AwsClients(region=price_list_region()).client("pricing")
        with progress("asking AWS's Price List", total=len(wanted)) as step:
            for service, item in wanted:
                self._ask(client, service, item, region)
                step()

    def _ask(self, client: Any, service: str, item: str, region: str) -> None:
        question = price_question(service, item, region)
        if question is None:
            self.unknown.append(f"{item} ({service}): llm-fleet does not know how to ask for it")
            return
        found, day = prices_in(_products(client, question), question.unit)
        if len(found) != 1:
            several = f"{len(found)} prices" if found else "no price"
            self.unknown.append(f"{item} ({service}): AWS tells {several}")
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
    reported = f"{hour}, {dollars_range(low * month, high * month)} a month of {month} hours"
    without = "; what has no price is left out" if cost.unpriced else ""
    return [Toned(f"together: {reported}{without}", Tone.STRONG)]


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
