"""Files of prices, and prices from the AWS Price List."""

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_fleet.catalog.ec2_instances import Price, PriceQuestion, price_list_region, price_question
from llm_fleet.cli.clients import AwsClients, aws_errors_reported
from llm_fleet.cli.screen import progress
from llm_fleet.cli.verb import refuse
from llm_fleet.rules.feature_codes import PlanCode

if TYPE_CHECKING:
    from llm_fleet.needs.fleet_cost import CostLine  # A fleet with prices of its account is validated without costs.

_FORMAT = 1


def read_prices(path: Path) -> list[Price]:
    """Return the prices of a file that `--refresh-prices` wrote. Raises `FleetError` (LF1083)."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            raise ValueError(f"unknown format {document['format']}")
        return [Price.of_entry(entry) for entry in document["prices"]]
    except (OSError, ValueError, KeyError, TypeError, InvalidOperation) as error:
        refuse(
            PlanCode.PRICE_FILE,
            f"not a valid price table: {type(error).__name__}: {error}",
            "use a file of --refresh-prices, or write it again with --refresh-prices",
            subject=str(path),
        )


def prices_text(found: Iterable[Price]) -> str:
    """Return the text of a price file with `found`."""
    return json.dumps({"format": _FORMAT, "prices": [one.entry for one in found]}, indent=1) + "\n"


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


_SOURCE = "AWS Price List, GetProducts"


class RefreshedPrices:
    """Prices from AWS for the items of a fleet, and items without a price."""

    def __init__(self, lines: "Iterable[CostLine]", region: str) -> None:
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
