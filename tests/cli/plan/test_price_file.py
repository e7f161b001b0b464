"""How AWS's Price List is asked, and what its answers may look like."""

import json
from decimal import Decimal
from typing import Any

import pytest

from llm_fleet.catalog.prices import price_question
from llm_fleet.cli.plan.price_file import prices_in
from llm_fleet.rules.problem import FleetError


def product(*prices: tuple[str, str]) -> dict[str, Any]:
    """In the shape of the user guide's example of GetProducts."""
    dimensions = {
        f"S.T.{number}": {"unit": unit, "pricePerUnit": {"USD": usd}} for number, (unit, usd) in enumerate(prices)
    }
    return {
        "product": {"sku": "S", "attributes": {}},
        "terms": {"OnDemand": {"S.T": {"priceDimensions": dimensions}}, "Reserved": {"S.R": {}}},
        "publicationDate": "2026-11-20T12:00:00Z",
    }


def test_what_is_asked_of_an_instance_and_of_a_node_of_hyperpod():
    asked = price_question("ec2", "trn1.32xlarge", "us-west-2")
    assert asked is not None
    assert asked.service_code == "AmazonEC2"
    assert asked.filters["instanceType"] == "trn1.32xlarge"
    assert (asked.filters["regionCode"], asked.filters["tenancy"]) == ("us-west-2", "Shared")
    node = price_question("sagemaker-cluster", "ml.trn1.32xlarge", "us-west-2")
    assert node is not None
    assert node.filters == {"instanceType": "ml.trn1.32xlarge-Cluster", "regionCode": "us-west-2"}
    assert price_question("network", "nat-gateway", "us-west-2") is None


def test_prices_of_an_answer_text_or_not():
    one = product(("Hrs", "21.5000000000"), ("Hrs", "0.0000000000"), ("Quantity", "7"))
    assert prices_in([json.dumps(one)], "Hrs") == ({Decimal("21.5")}, "2026-11-20")
    assert prices_in([one, product(("Hrs", "22"))], "Hrs")[0] == {Decimal("21.5"), Decimal(22)}
    assert prices_in([], "Hrs") == (set(), "")


@pytest.mark.parametrize("answer", ["{", "[]", "{}", json.dumps(product(("Hrs", "much")))])
def test_an_answer_of_another_shape_is_told(answer: str):
    with pytest.raises(FleetError, match="LF1084"):
        prices_in([answer], "Hrs")
