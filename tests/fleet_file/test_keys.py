"""The texts of errors name the keys of the fleet file, not attributes of Python."""

import pytest
from pydantic import Field

from llm_fleet.fleet_file.keys import words_of
from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError
from llm_fleet.spec.model import FleetModel
from tests.fleet_file import good_endpoint, good_fleet, good_parallelcluster, good_service

QUEUE = ("max: 4", "min: 5, max: 4")
ENDPOINT = good_endpoint.INSTANCE

TEXTS = {
    "numbers of nodes": (good_parallelcluster.edited(*QUEUE), "`min` 5 is above `max` 4"),
    "capacity of a queue": (
        good_parallelcluster.edited("max: 4", "spot_price: 3, max: 4"),
        "the queue has `capacity` `on-demand`",
    ),
    "data capture": (
        good_endpoint.edited(ENDPOINT, f"{ENDPOINT}\n    data_capture: {{requests: false, answers: false}}"),
        "`requests` and `answers` are both false",
    ),
    "scaling of an endpoint": (
        good_endpoint.edited(ENDPOINT, f"{ENDPOINT}\n    count: 3\n    scaling: {{max: 2, requests_per_minute: 60}}"),
        "`max` is 2",
    ),
    "a server": (
        good_service.edited("server: {", "server: {graceful_termination: 2 days, "),
        "`graceful_termination` is outside",
    ),
    "a database": (
        good_fleet.edited("  buckets:", '  slurm_database: {version: "5.7"}\n  buckets:'),
        "set `family` of a newer version",
    ),
    "Studio": (
        good_fleet.GOOD + "studio: {instance: ml.t3.medium, instances: [ml.g5.xlarge]}\n",
        "the default `instance` is not one of the `instances`",
    ),
    "a watch": (good_fleet.GOOD + "watch: {clusters: []}\n", "write `watched: true` for a training job"),
}


def test_a_text_of_a_node_step_names_the_step() -> None:
    """`mount_lustre` is also an attribute of a group, whose key is `mount_fsx`."""
    with pytest.raises(FleetError) as caught:
        parse_fleet(good_fleet.edited("kind: hyperpod", "kind: hyperpod\n    scripts: {skip: [mount_lustr]}"))
    assert "write `mount_lustre`" in str(caught.value)
    assert "metrics, mount_lustre, mount_open_zfs, mount_s3" in str(caught.value)


class Inner(FleetModel):
    max_count: int = Field(alias="most")
    count: int = Field(alias="number")


class Outer(FleetModel):
    max_count: int = Field(alias="max")
    size: int = Field(alias="extent")
    inner: Inner


def test_the_nearest_mapping_decides() -> None:
    """Ordinary words are replaced only for the mappings on the path."""
    text = "write `max_count: 3`, or `count`, or `size` in max_count"
    assert words_of((Outer,)).written(text) == "write `max: 3`, or `count`, or `extent` in `max`"
    assert words_of((Outer, Inner)).written(text) == "write `most: 3`, or `number`, or `extent` in `most`"


@pytest.mark.parametrize("part", TEXTS)
def test_a_text_names_the_key(part: str) -> None:
    text, expected = TEXTS[part]
    with pytest.raises(FleetError) as caught:
        parse_fleet(text)
    assert expected in str(caught.value)


def test_a_given_mapping_is_shown_as_yaml() -> None:
    with pytest.raises(FleetError) as caught:
        parse_fleet(good_fleet.edited("count: 4", "cuont: {a: 1, b: [true, x]}, count: 4"))
    assert "given:   {a: 1, b: [true, 'x']}" in str(caught.value)


def test_a_list_of_the_wrong_type_has_an_example_of_its_key() -> None:
    with pytest.raises(FleetError) as caught:
        parse_fleet(good_fleet.edited("kind: hyperpod", "kind: hyperpod\n    s3_mounts: /data"))
    assert "`s3_mounts: [{bucket: s3://my-corpus, mount: /s3/corpus}]`" in str(caught.value)


def test_an_optional_name_has_a_maximum_only() -> None:
    with pytest.raises(FleetError) as caught:
        parse_fleet(good_fleet.edited("partition: trn1", "partition: trn_1"))
    assert "at most 1024 characters: letters" in str(caught.value)


def test_a_sum_of_money_needs_its_currency() -> None:
    budget = f"{ENDPOINT}\n    budget: {{monthly: 200, emails: [a@example.com]}}"
    with pytest.raises(FleetError) as caught:
        parse_fleet(good_endpoint.edited(ENDPOINT, budget))
    assert "the currency is missing" in str(caught.value)
    assert "write `200 USD`" in str(caught.value)
