"""The dated price table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, Self

from llm_fleet.catalog.data_file import load
from llm_fleet.catalog.price import Price

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
