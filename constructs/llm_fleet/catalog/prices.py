"""Prices: those that the catalog has, the forms that a user's own take, and AWS's Price List."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, Literal, Self

from llm_fleet.catalog.data_file import load

Unit = Literal["hour", "gb-month"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A price on demand, without tax and discounts, with where it comes from."""

    service: str
    """Who rents it out: `ec2`, `sagemaker`, `sagemaker-cluster`, `lustre`, `network` …"""
    item: str
    """What, e.g. `trn1.32xlarge` or `PERSISTENT_2/SSD/250`."""
    region: str
    unit: Unit
    usd: Decimal
    """For one `unit` of one of them."""
    source: str
    """Where it was read, for people."""
    read: str
    """When, as ISO date."""
    verified: bool
    """Whether AWS itself told it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceQuestion:
    """One question of GetProducts."""

    service_code: str
    unit: str
    """Of the prices that count, as the Price List has it."""
    filters: Mapping[str, str]
    """What the product's attributes must be."""


def price_question(service: str, item: str, region: str) -> PriceQuestion | None:
    """Return how the price of `item` of `service` in `region` is asked; `None` where nobody knows how."""
    product = load("price_list")["products"].get(service)
    if product is None:
        return None
    filters = {name: value.format(item=item, region=region) for name, value in product["filters"].items()}
    return PriceQuestion(service_code=product["service_code"], unit=product["unit"], filters=filters)


def price_list_region() -> str:
    """Return where the Price List answers, for all regions."""
    return load("price_list")["endpoint_region"]


_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by service, item and region."""

    prices: Mapping[_Key, Price] = field(default_factory=dict[_Key, Price])

    @classmethod
    def of(cls, prices: Iterable[Price]) -> Self:
        """Return a table of `prices`; of two for the same thing, the later one counts."""
        return cls({(one.service, one.item, one.region): one for one in prices})

    def with_prices(self, prices: Iterable[Price]) -> "PriceTable":
        """Return this table with `prices` in the place of its own."""
        return PriceTable({**self.prices, **PriceTable.of(prices).prices})

    def find(self, services: Sequence[str], item: str, region: str) -> Price | None:
        """Return the price of `item` of the first of `services` that has one in `region`.

        Where `region` has none, that of the region with the most prices stands in (`Price.region` tells), which is to
        be said wherever it is shown. `None` where there is neither.
        """
        for place in (region, stand_in_region()):
            for service in services:
                found = self.prices.get((service, item, place))
                if found is not None:
                    return found
        return None


@cache
def prices() -> PriceTable:
    """Return the table that llm-fleet ships."""
    facts: dict[str, Any] = load("prices")
    return PriceTable.of(
        Price(
            service=group["service"],
            item=item,
            region=group["region"],
            unit=group["unit"],
            usd=Decimal(str(usd)),
            source=facts["sources"][group["source"]]["text"],
            read=facts["sources"][group["source"]]["read"],
            verified=facts["sources"][group["source"]]["verified"],
        )
        for group in facts["groups"]
        for item, usd in group["usd"].items()
    )


def stand_in_region() -> str:
    """Return the region whose prices stand in where a region has none."""
    return load("prices")["stand_in_region"]


def hours_of_a_month() -> int:
    """Return how many hours a month is taken to have; AWS's own calculators take as many."""
    return load("prices")["hours_of_a_month"]
