"""The limits of HyperPod are those of botocore's model, and none is missing."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.session import get_session

from llm_fleet.catalog.data_file import Limit, load
from llm_fleet.catalog.hyperpod import cluster_limit, group_limit
from tools.make_hyperpod_limits import NOT_OFFERED, TARGET, document


@pytest.fixture(scope="module")
def request_shape() -> Any:
    return get_session().get_service_model("sagemaker").operation_model("CreateCluster").input_shape


def _field(shape: Any, path: str) -> Any:
    """Return the shape at `path`, independently of the catalog's code."""
    for part in path.split("."):
        shape = shape.members[part.removesuffix("[]")]
        if part.endswith("[]"):
            shape = shape.member
    return shape


@pytest.mark.parametrize("path", load("hyperpod_limits"))
def test_each_limit_is_that_of_the_service(request_shape: Any, path: str) -> None:
    metadata = _field(request_shape, path).metadata
    assert replace(cluster_limit(path), source="") == Limit(
        minimum=metadata.get("min"), maximum=metadata.get("max"), pattern=metadata.get("pattern")
    )


def test_no_limit_is_missing() -> None:
    assert TARGET.read_text(encoding="utf-8") == document(), "run `python -m tools.make_hyperpod_limits`"


def test_every_field_of_a_group_is_listed() -> None:
    """A field that the service adds to a group must be supported, or be on the list of unsupported fields."""
    shape: Any = get_session().get_service_model("sagemaker").shape_for("ClusterInstanceGroupSpecification")
    offered = {
        path.split(".")[1].removesuffix("[]")
        for path in load("hyperpod_limits")
        if path.startswith("InstanceGroups[].")
    }
    rejected = {path.split(".")[1] for path in NOT_OFFERED if path.startswith("InstanceGroups[].")}
    unlimited = {"InstanceType", "CapacityRequirements", "NetworkInterface"}
    assert set(shape.members) == offered | rejected | unlimited


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (cluster_limit("ClusterName"), "1 to 63"),
        (cluster_limit("InstanceGroups"), "1 to 100"),
        (cluster_limit("Tags"), "0 to 50"),
        (group_limit("InstanceCount"), "0 to 6758"),
        (Limit(maximum=5), "up to 5"),
        (Limit(minimum=1), "1 or more"),
        (Limit(), "any"),
    ],
)
def test_a_range_is_written_as_text(limit: Limit, text: str) -> None:
    assert limit.range == text


def test_values_outside_a_limit_are_found() -> None:
    name = cluster_limit("ClusterName")
    assert [name.holds(size) for size in (0, 1, 63, 64)] == [False, True, True, False]
    assert [name.matches(text) for text in ("a-b", "a_b", "-a", "a\n")] == [True, False, False, False]


def test_an_unknown_field_is_an_error() -> None:
    with pytest.raises(KeyError):
        cluster_limit("ClusterNam")
