"""AWS's Price List Query API: the products that tests add, filtered and paged as the service does."""

import json
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

_TARGET = "AWSPriceListService.GetProducts"
_REGIONS = ("us-east-1", "eu-central-1", "ap-south-1")
"""Regions with an endpoint, from the user guide."""
_MOST = 100
_Matches = Callable[[str, str], bool]
_FILTERS: Mapping[str, _Matches] = {
    "TERM_MATCH": lambda has, requested: has == requested,
    "EQUALS": lambda has, requested: has == requested,
    "CONTAINS": lambda has, requested: requested in has,
    "ANY_OF": lambda has, requested: has in requested.split(","),
    "NONE_OF": lambda has, requested: has not in requested.split(","),
}


class PriceList:
    """The products of the Price List. Thread-safe."""

    def __init__(self) -> None:
        """Start without products."""
        self._lock = Lock()
        self._products: list[dict[str, Any]] = []

    def add(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Add `products`: each has `service_code`, `attributes`, `unit`, and `usd` as text."""
        with self._lock:
            for one in requested["products"]:
                self._products.append(_product(one, sku=f"LOCAL{len(self._products):011d}"))
        return {}

    def answer(self, target: str, region: str, body: str) -> tuple[int, dict[str, Any]] | None:
        """Return status and response of a call signed for `region`; `None` for a call of another service."""
        if target != _TARGET:
            return None
        requested = json.loads(body or "{}")
        if region not in _REGIONS:
            return _rejected(f"the Price List has endpoints in {', '.join(_REGIONS)}, not in {region}")
        if any(one["Type"] not in _FILTERS for one in requested.get("Filters", [])):
            return _rejected("unknown type of a filter")
        with self._lock:
            found = [one for one in self._products if _is_requested(one, requested)]
        begin, most = int(requested.get("NextToken") or 0), min(requested.get("MaxResults") or _MOST, _MOST)
        page = {"FormatVersion": "aws_v1", "PriceList": [json.dumps(one) for one in found[begin : begin + most]]}
        return 200, page if begin + most >= len(found) else {**page, "NextToken": str(begin + most)}


def _rejected(message: str) -> tuple[int, dict[str, Any]]:
    return 400, {"__type": "InvalidParameterException", "message": message}


def _is_requested(product: Mapping[str, Any], requested: Mapping[str, Any]) -> bool:
    attributes = product["product"]["attributes"]
    return product["serviceCode"] == requested["ServiceCode"] and all(
        _FILTERS[one["Type"]](attributes.get(one["Field"], ""), one["Value"]) for one in requested.get("Filters", [])
    )


def _product(product: Mapping[str, Any], *, sku: str) -> dict[str, Any]:
    """Return a product in the format of the service's responses (user guide, GetProducts)."""
    term, rate = f"{sku}.JRTCKXETXF", f"{sku}.JRTCKXETXF.6YS6EN2CT7"
    dimension: dict[str, Any] = {
        "unit": product["unit"],
        "endRange": "Inf",
        "description": "added by a test",
        "appliesTo": [],
        "rateCode": rate,
        "beginRange": "0",
        "pricePerUnit": {"USD": product["usd"]},
    }
    return {
        "product": {"productFamily": "Compute Instance", "attributes": dict(product["attributes"]), "sku": sku},
        "serviceCode": product["service_code"],
        "terms": {
            "OnDemand": {
                term: {
                    "priceDimensions": {rate: dimension},
                    "sku": sku,
                    "effectiveDate": "2026-11-01T00:00:00Z",
                    "offerTermCode": "JRTCKXETXF",
                    "termAttributes": {},
                }
            }
        },
        "version": "20261120000000",
        "publicationDate": "2026-11-20T00:00:00Z",
    }
