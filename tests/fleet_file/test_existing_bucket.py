"""An existing bucket under `storage.buckets` needs its name."""

import pytest

from llm_fleet.fleet_file.load import parse_fleet
from llm_fleet.rules.problem import FleetError

_FLEET = """\
fleet: train
region: us-west-2
network: none
storage:
  buckets:
    data: {}
"""


def test_an_existing_bucket_needs_its_name():
    with pytest.raises(FleetError) as error:
        parse_fleet(_FLEET.replace("{}", "{existing: true}"))
    (problem,) = error.value.problems
    assert (problem.code, problem.where) == ("LF1237", "storage.buckets.data.existing")


def test_with_its_name_it_is_valid():
    bucket = parse_fleet(_FLEET.replace("{}", "{existing: true, name: my-data}")).storage.buckets["data"]
    assert (bucket.existing, bucket.bucket_name) == (True, "my-data")
