"""A fleet file is valid after the remedies for its SageMaker parts are applied literally."""

import re
from pathlib import Path

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError, Problem

EXAMPLES = Path(__file__).parents[2] / "examples"
JOB = (EXAMPLES / "sagemaker-training.yaml").read_text(encoding="utf-8")
ENDPOINT = (EXAMPLES / "sagemaker-endpoint.yaml").read_text(encoding="utf-8")


def the_problem(text: str) -> Problem:
    with pytest.raises(FleetError) as caught:
        parse_fleet(text, directory=EXAMPLES)
    (only,) = caught.value.problems
    return only


@pytest.mark.parametrize("key", ["t" * 40, "my_text"])
def test_the_suggested_key_is_valid(key: str) -> None:
    suggested = re.search(r"as the job's key, write `([^`]+)`", the_problem(JOB.replace("  text:", f"  {key}:")).remedy)
    assert suggested
    parse_fleet(JOB.replace("  text:", f"  {suggested[1]}:"), directory=EXAMPLES)


def test_a_fleet_name_that_is_too_long_is_reported_with_a_remedy_for_the_fleet() -> None:
    assert "shorten the fleet's name" in the_problem(JOB.replace("fleet: trainer", f"fleet: {'t' * 40}")).remedy


def test_the_remedy_for_a_long_time_to_live_is_valid() -> None:
    remedy = the_problem(ENDPOINT.replace("4 hours", "400 days")).remedy
    assert "at most 365 days" in remedy
    parse_fleet(ENDPOINT.replace("4 hours", "365 days"))
