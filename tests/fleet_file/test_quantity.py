"""Quantities with their units."""

from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticCustomError

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.fields import check_fields
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.instance_group import BatchSize
from llm_fleet.spec.storage import read_throughput
from llm_fleet.spec.training_job import WarmPool
from llm_fleet.spec.values import DAYS, LIFETIME, LUSTRE_SIZE, RATE, SECONDS, SIZE, Quantity
from tests.fleet_file.good_training_job import problems


@pytest.mark.parametrize(
    ("quantity", "written", "number"),
    [
        (SIZE, "500 GiB", 500),
        (SIZE, "500GiB", 500),
        (SIZE, "1 TiB", 1024),
        (SIZE, "1.5 TiB", 1536),
        (LUSTRE_SIZE, "4800 GiB", 4800),
        (LUSTRE_SIZE, "4.8 TiB", 4800),
        (LUSTRE_SIZE, "1.2 TiB", 1200),
        (RATE, "320 MB/s", 320),
        (RATE, "24 GB/s", 24000),
        (SECONDS, "90 s", 90),
        (SECONDS, "10 min", 600),
        (SECONDS, "2 days", 172_800),
        (DAYS, "1 day", 1),
    ],
)
def test_a_quantity_is_read(quantity: Quantity, written: str, number: int) -> None:
    assert quantity.parse(written) == number
    assert quantity.parse(quantity.text(number)) == number


def test_a_number_out_of_range_is_reported_in_the_units_of_the_file() -> None:
    (found,) = problems("    count: 2\n", "    count: 2\n    max_run: 30 days\n")
    assert (found.message, found.value) == ("`max_run` must be at most 28 days", "30 days")
    assert (found.allowed, found.remedy[:24]) == ("1 s to 28 days", "write at most 28 days; c")
    (found,) = problems("    count: 2\n", "    count: 2\n    warm_pool: 1 day\n")
    assert (found.message, found.value, found.remedy) == ("`keep` must be at most 6 h", "1 day", "write `6 h`")


def test_other_errors_show_the_value_in_the_unit_of_the_file() -> None:
    text = Path("examples/hyperpod-trn1.yaml").read_text(encoding="utf-8")
    with pytest.raises(FleetError) as caught:
        parse_fleet(text.replace("size: 4800 GiB", "size: 5000 GiB", 1))
    assert [(each.code.value, each.value) for each in caught.value.problems] == [("LF302", "5000 GiB")]


def test_a_number_out_of_range_is_reported_as_a_number_in_python() -> None:
    (found,) = check_fields(WarmPool(keep_alive_seconds=86400))
    assert (found.message, found.value) == ("`keep` must be at most 21600", 86400)
    assert (found.allowed, found.remedy) == ("1 to 21600", "write 21600, or another number in the range")


def test_a_unit_has_its_plural() -> None:
    assert [LIFETIME.text(86400 * days) for days in (1, 2)] == ["1 day", "2 days"]


@pytest.mark.parametrize(
    ("quantity", "written", "remedy"),
    [
        (SIZE, 500, "write `500 GiB`"),
        (SIZE, "500", "write `500 GiB`"),
        (SIZE, 4.5, "write `4.5 GiB`"),
        (SIZE, 0, "write e.g. `500 GiB`"),
        (SIZE, True, "e.g. `500 GiB`"),
        (SIZE, [1], "e.g. `500 GiB`"),
        (SIZE, "", "e.g. `500 GiB`"),
        (SIZE, "GiB", "e.g. `500 GiB`"),
        (SIZE, "500 GB", "`500 GiB`"),
        (SIZE, "1 TB", "`1 TiB`"),
        (SIZE, "5e2 GiB", "e.g. `500 GiB`"),
        (SIZE, "1,000 GiB", "without a thousands separator: `1000 GiB`"),
        (SIZE, "4.8 TiB", "`4915 GiB`"),
        (SIZE, "0.5 GiB", "`1 GiB`"),
        (RATE, "320 MB", "`320 MB/s`"),
        (SECONDS, "5 hours", "`5 h`"),
        (SECONDS, "5 fortnights", "`30 min`"),
    ],
)
def test_an_invalid_quantity_is_rejected_with_the_correct_form(quantity: Quantity, written: Any, remedy: str) -> None:
    with pytest.raises(PydanticCustomError) as caught:
        quantity.parse(written)
    context = caught.value.context
    assert context is not None
    assert context["code"] == "LF115"
    assert remedy in context["remedy"]
    assert context["allowed"]


def test_throughput_is_per_tib_or_of_the_whole_file_system() -> None:
    assert read_throughput("250 MB/s/TiB").per_tib == 250
    assert read_throughput("250 MB/s/TiB").whole is None
    assert read_throughput("4 GB/s").whole == 4000
    assert read_throughput("4 GB/s").per_tib is None


@pytest.mark.parametrize(
    ("written", "unit", "value"),
    [("2 nodes", "INSTANCE_COUNT", 2), ("1 node", "INSTANCE_COUNT", 1), ("25%", "CAPACITY_PERCENTAGE", 25)],
)
def test_a_batch_size_is_a_number_or_a_percentage(written: str, unit: str, value: int) -> None:
    assert (BatchSize.read(written).unit, BatchSize.read(written).value) == (unit, value)


@pytest.mark.parametrize("written", [3, "3", "x nodes", "-1%", None, True])
def test_a_batch_size_requires_a_unit(written: Any) -> None:
    with pytest.raises(PydanticCustomError, match="nodes, or percent"):
        BatchSize.read(written)
