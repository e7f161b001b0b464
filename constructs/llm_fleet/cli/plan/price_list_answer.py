"""Reads an answer of AWS's Price List."""

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from llm_fleet.cli.failure import refuse
from llm_fleet.rules.day_two.plan_codes import PlanCode


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
