"""Every data file of the catalog says what it is about, where its facts come from, and when they were checked."""

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from llm_fleet.catalog.data_file import every_data_file
from llm_fleet.catalog.ec2_instances import fallback_region, price_sources, prices
from llm_fleet.catalog.hyperpod import instances
from llm_fleet.needs.fleet_cost import services_of
from llm_fleet.needs.machines import MachineService

DATA = Path(__file__).parents[2] / "constructs" / "llm_fleet" / "catalog" / "data"
NAMES = [path.relative_to(DATA).with_suffix("").as_posix() for path in sorted(DATA.rglob("*.json"))]
OF_OUR_CODE = {"job_settings", "node_steps"}
"""Generated from `lifecycle_scripts/`; `tests/tools` compares them in every run."""


def wrong_with(name: str, document: dict[str, Any]) -> list[str]:
    """Return what is wrong with the heading of the data file `name`."""
    wrong: list[str] = []
    if set(document) != {"what", "source", "checked", "facts"}:
        wrong.append("keys")
    for key, least in (("what", 10), ("source", 20)):
        if not isinstance(document.get(key), str) or len(document[key]) < least:
            wrong.append(key)
    if len(str(document.get("what", ""))) > 90:
        wrong.append("what")
    checked = document.get("checked")
    if name in OF_OUR_CODE:
        return wrong + (["checked"] if checked is not None or not document["source"].startswith("lifecycle_") else [])
    if not isinstance(checked, str) or not re.fullmatch(r"20\d\d-\d\d-\d\d", checked):
        return [*wrong, "checked"]
    return wrong + (["checked"] if date.fromisoformat(checked) > date.today() else [])


@pytest.mark.parametrize("name", NAMES)
def test_a_data_file_has_a_source_and_a_date(name: str) -> None:
    assert wrong_with(name, json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"checked": None}, ["checked"]),
        ({"checked": "at every run of the tests"}, ["checked"]),
        ({"checked": "2026-11"}, ["checked"]),
        ({"checked": "2999-01-01"}, ["checked"]),
        ({"source": ""}, ["source"]),
        ({"what": 7}, ["what"]),
        ({"more": 1}, ["keys"]),
    ],
)
def test_a_wrong_heading_is_found(change: dict[str, Any], wrong: list[str]) -> None:
    whole: dict[str, Any] = json.loads((DATA / "lustre.json").read_text(encoding="utf-8"))
    assert wrong_with("lustre", whole | change) == wrong


def test_a_missing_date_is_found() -> None:
    whole: dict[str, Any] = json.loads((DATA / "lustre.json").read_text(encoding="utf-8"))
    del whole["checked"]
    assert wrong_with("lustre", whole) == ["keys", "checked"]


def test_every_data_file_is_listed() -> None:
    assert sorted(one.name for one in every_data_file()) == sorted(NAMES)


def test_the_table_of_prices_is_not_older_than_its_sources() -> None:
    (table,) = (one for one in every_data_file() if one.name == "prices")
    assert table.checked
    assert all(one.checked and one.checked <= table.checked and one.what for one in price_sources())


def test_the_page_of_plan_lists_the_accelerators_of_hyperpod_without_a_price() -> None:
    services = services_of(MachineService.HYPERPOD)
    missing = {
        name.split(".")[1]
        for name, one in instances().items()
        if one.accelerator and prices().find(services, name, fallback_region()) is None
    }
    page = (DATA.parents[3] / "docs" / "commands" / "plan.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"prices of these HyperPod instances: ([^.]*)\.", page)
    assert re.split(r",\s+", listed) == sorted(missing)
