"""Digests of published scripts in a template, added to the references to them."""

from typing import Any

import pytest

from llm_fleet.rules.parallelcluster.update_changes import Verdict
from llm_fleet.rules.parallelcluster.update_check import digests_of, with_digests
from llm_fleet.rules.parallelcluster.update_plan import plan_update

_BUNDLE = {"Bucket": {"Ref": "Bucket"}, "Root": "bundles/fleet/train-01234567", "ContentHash": "one"}


def _hook(attribute: str) -> dict[str, Any]:
    return {"Script": {"Fn::GetAtt": ["Bundle", attribute]}}


def _configuration(**properties: Any) -> Any:
    """A head node with both hooks, as in a template whose bundle has `properties`."""
    hooks = {"OnNodeConfigured": _hook("EntryS3Uri"), "OnNodeUpdated": _hook("SourceS3Uri")}
    resources = {"Bundle": {"Type": "Custom::LlmFleetBundle", "Properties": {**_BUNDLE, **properties}}}
    return with_digests({"HeadNode": {"CustomActions": hooks}}, digests_of(resources))


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"ContentHash": "two"}, Verdict.FREE),
        ({"Bucket": "another-bucket"}, Verdict.NEEDS_NEW_CLUSTER),
        ({"Root": "bundles/renamed/train-01234567"}, Verdict.NEEDS_NEW_CLUSTER),
    ],
)
def test_new_content_is_free_and_another_location_is_not(change: dict[str, Any], verdict: Verdict) -> None:
    plan = plan_update(_configuration(), _configuration(**change))
    assert plan.changes
    assert plan.verdict is verdict
