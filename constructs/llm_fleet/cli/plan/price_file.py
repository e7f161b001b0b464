"""Prices of the user's own: their file, and a new one from AWS's Price List."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from llm_fleet.catalog.prices import Price, PriceQuestion, PriceTable, price_list_region, price_question, prices
from llm_fleet.cli.atomic_write import write_file
from llm_fleet.cli.aws.clients import AwsClients, told_of_aws
from llm_fleet.cli.failures import refuse
from llm_fleet.cli.terminal.screen import progress
from llm_fleet.fleet_file.fleet import Fleet
from llm_fleet.needs.fleet_cost import CostLine, cost_of
from llm_fleet.rules.command_codes import PlanCode
from llm_fleet.rules.problem import FleetError


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
_UNITS = ("hour", "gb-month")
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
    pass  # MERGED

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
        reason = (error.strerror or type(error).__name__).lower()
        refuse(
            PlanCode.PRICE_FILE,
            f"the folder cannot be made: {reason}",
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
    if entry["unit"] not in _UNITS:
        raise ValueError(f"{entry['unit']!r} is no unit; {' and '.join(_UNITS)} are")
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
    with told_of_aws("AWS Price List"):
        pages = client.get_paginator("get_products").paginate(ServiceCode=question.service_code, Filters=filters)
        return [product for page in pages for product in page["PriceList"]]
