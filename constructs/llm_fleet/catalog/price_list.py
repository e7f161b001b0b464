"""How AWS's Price List is asked."""

from collections.abc import Mapping
from dataclasses import dataclass

from llm_fleet.catalog.data_file import load


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
