"""Notebook instances of the fleet file: short forms, defaults, and errors at their keys."""

from typing import Any

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError
from tests.fleet_file.good_fleet import edited_text

GOOD = """\
fleet: test
region: us-west-2
network: {az: usw2-az4}
storage: {buckets: {data: {}}}
notebooks:
  lab:
    buckets: [data]
    repositories: [https://github.com/aws/amazon-sagemaker-examples.git]
    idle: 90 minutes
"""


def problems(*edits: str) -> list[tuple[str, str]]:
    try:
        parse_fleet(edited_text(GOOD, *edits))
    except FleetError as error:
        return [(problem.code.value, problem.where) for problem in error.problems]
    return []


def test_short_forms_and_defaults():
    lab = parse_fleet(GOOD).notebooks["lab"]
    assert [one.url for one in lab.repositories] == ["https://github.com/aws/amazon-sagemaker-examples.git"]
    assert (lab.idle_minutes, lab.volume_gib, lab.instance_type) == (90, 50, "ml.t3.medium")
    assert (lab.pins, lab.internet, lab.root_access) == (("sagemaker<3",), False, False)
    assert parse_fleet(edited_text(GOOD, "90 minutes", "never")).notebooks["lab"].idle_minutes is None
    assert parse_fleet(edited_text(GOOD, "90 minutes", "2 h")).notebooks["lab"].idle_minutes == 120


@pytest.mark.parametrize(
    ("edits", "code", "where"),
    [
        (("{az: usw2-az4}", "none"), "LF912", "notebooks.lab.internet"),
        (("idle: 90 minutes", "idle: 5 minutes"), "LF914", "notebooks.lab.idle"),
        (("idle: 90 minutes", "instance: ml.p3.2xlarge"), "LF901", "notebooks.lab.instance"),
        (("idle: 90 minutes", "platform: notebook-al2-v3"), "LF910", "notebooks.lab.platform"),
        (("idle: 90 minutes", "volume: 1 GiB"), "LF913", "notebooks.lab.volume"),
        (("idle: 90 minutes", "az: usw2-az1"), "LF206", "notebooks.lab.az"),
        (("idle: 90 minutes", "clusters: [train]"), "LF119", "notebooks.lab.clusters[0]"),
        (("[data]", "[date]"), "LF119", "notebooks.lab.buckets[0]"),
        (("https://github.com/aws", "https://a:b@github.com/aws"), "LF915", "notebooks.lab.repositories[0].url"),
        (("{az: usw2-az4}", "{az: usw2-az4, internet: none}"), "LF915", "notebooks.lab.repositories[0].url"),
    ],
)
def test_errors_are_reported_at_their_keys(edits: tuple[str, ...], code: str, where: str):
    assert problems(*edits) == [(code, where)]


def test_a_closed_network_gets_the_endpoint_for_notebooks():
    git = "https://git-codecommit.us-west-2.amazonaws.com/v1/repos/lab"
    edits: tuple[Any, ...] = ("{az: usw2-az4}", "{az: usw2-az4, internet: none}")
    edits += ("https://github.com/aws/amazon-sagemaker-examples.git", git)
    assert problems(*edits) == [("LF915", "notebooks.lab.repositories[0].url")], "its own endpoint is missing"
    with_endpoint = (edits[0], "{az: usw2-az4, internet: none, endpoints: [git-codecommit]}", *edits[2:])
    assert problems(*with_endpoint) == []
