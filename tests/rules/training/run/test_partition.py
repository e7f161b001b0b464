"""An invalid partition in Python: a problem at its attribute, without a traceback, and quickly."""

import time
from typing import Any

import pytest

from tests.rules.training.run.runs import partition, problems, values

TOKEN = -1.8881545897087e289
"""A CDK token for a number."""
BAD: dict[str, tuple[str, Any, str]] = {
    "a cluster without a name": ("cluster", None, "partition.cluster"),
    "an instance type that is not text": ("instance_type", 4, "partition.instance_type"),
    "nodes as text": ("nodes", "4", "partition.nodes"),
    "half a node": ("nodes", 1.5, "partition.nodes"),
    "a boolean for nodes": ("nodes", True, "partition.nodes"),
    "too many nodes": ("nodes", 10**40, "partition.nodes"),
    "zero processes": ("processes", 0, "partition.processes"),
    "processes as text": ("processes", "32", "partition.processes"),
    "a folder that is not text": ("training_folder", [], "partition.training_folder"),
    "mounts as one text": ("shared_mounts", "/fsx", "partition.shared_mounts"),
    "an environment that is not text": ("environments", ("neuron", 1), "partition.environments[1]"),
    "a server that is not text": ("exports_for", (1,), "partition.exports_for[0]"),
    "a file system of negative size": ("file_system_gib", -1, "partition.file_system_gib"),
    "a file system's size as text": ("file_system_gib", "4800", "partition.file_system_gib"),
    "more processes than a node has": ("processes", 10**40, "partition.processes"),
    "a number of nodes that is a token": ("nodes", TOKEN, "partition.nodes"),
    "a secret that is not text": ("hub_token_secret_arn", 1, "partition.hub_token_secret_arn"),
    "buckets as one text": ("reads", "mine", "partition.reads"),
    "a bucket that is not text": ("writes", (None,), "partition.writes[0]"),
}


@pytest.mark.parametrize("name", BAD)
def test_each_mistake_is_reported_at_its_attribute(name: str):
    attribute, value, where = BAD[name]
    arguments = {**_good(), attribute: value}
    (problem,) = problems(partition=type(partition())(**arguments))
    assert (problem.code.value, problem.where) == ("LF851", where)
    assert problem.remedy.startswith("write ")


@pytest.mark.parametrize(
    ("attribute", "value", "code"),
    [
        ("steps", TOKEN, "LF870"),
        ("nodes", TOKEN, "LF870"),
        ("global_batch", TOKEN, "LF870"),
        ("model", "${Token[x.1]}", "LF871"),
        ("folder", "${Token[x.1]}", "LF863"),
        ("micro_batch", 10**40, "LF868"),
    ],
)
def test_a_value_that_is_invalid_in_batch_files_is_a_problem_of_the_run(attribute: str, value: Any, code: str):
    (problem,) = problems(**{attribute: value})
    assert problem.code == code
    assert problem.where in (attribute, "model")


def test_a_large_partition_is_searched_quickly():
    start = time.perf_counter()
    (problem,) = problems(partition=partition(nodes=65536), tensor_parallel=3)
    assert problem.remedy == "write tensor_parallel=8"
    assert time.perf_counter() - start < 2


def _good() -> dict[str, Any]:
    good = values()["partition"]
    return {name: getattr(good, name) for name in good.__slots__}
