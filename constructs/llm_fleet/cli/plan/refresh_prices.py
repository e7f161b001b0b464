"""Asks AWS's Price List for what a fleet needs."""

from collections.abc import Iterable
from typing import Any

from llm_fleet.catalog.prices import Price, PriceQuestion, price_list_region, price_question
from llm_fleet.cli.aws.clients import AwsClients
from llm_fleet.cli.aws.refusals import told_of_aws
from llm_fleet.cli.plan.price_list_answer import prices_in
from llm_fleet.cli.terminal.progress import progress
from llm_fleet.needs.cost_line import CostLine

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
