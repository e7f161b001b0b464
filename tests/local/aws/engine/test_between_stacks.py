"""Relations between stacks: exports, weak references, nesting."""

import json
from typing import Any

import pytest

from llm_fleet_local.aws.template.values import TemplateError
from tests.local.aws.conftest import Bench

THING: dict[str, Any] = {"Type": "Test::Thing", "Properties": {"Value": "1"}}


def producer(value: Any = None, export: str | None = "shared") -> dict[str, Any]:
    output: dict[str, Any] = {"Value": value or {"Ref": "A"}}
    if export:
        output["Export"] = {"Name": {"Fn::Sub": export}}
    return {"Resources": {"A": THING}, "Outputs": {"Out": output}}


def consumer(function: dict[str, Any]) -> dict[str, Any]:
    return {"Resources": {"B": {"Type": "Test::Thing", "Properties": {"Value": function}}}}


IMPORT = {"Fn::ImportValue": "shared"}


def test_an_export_can_be_imported(bench: Bench) -> None:
    bench.create("P", producer())
    bench.create("C", consumer(IMPORT))
    assert bench.provider.things["thing-2"] == {"Value": "thing-1"}


def test_an_export_in_use_cannot_be_removed_or_changed_and_names_are_unique(bench: Bench) -> None:
    stack = bench.create("P", producer())
    user = bench.create("C", consumer(IMPORT))
    bench.delete(stack)
    assert (stack.status, stack.reason) == ("DELETE_FAILED", "Cannot delete export shared as it is in use by C")
    assert bench.provider.exists("Test::Thing", "thing-1")
    other = bench.create("Other", producer())
    assert other.status == "ROLLBACK_COMPLETE"
    assert any("already exported by stack P" in (event.reason or "") for event in other.events)
    bench.delete(user)
    bench.delete(stack)
    assert stack.status == "DELETE_COMPLETE"


def test_changing_an_export_in_use_rolls_the_update_back(bench: Bench) -> None:
    stack = bench.create("P", producer("one"))
    bench.create("C", consumer(IMPORT))
    bench.update(stack, producer("two"))
    assert stack.status == "UPDATE_ROLLBACK_COMPLETE"
    assert stack.outputs[0].value == "one"


def test_a_missing_export_is_reported(bench: Bench) -> None:
    assert "No export named shared found." in bench.rejection(consumer(IMPORT))


def test_a_weak_reference_reads_any_output_and_blocks_no_change(bench: Bench) -> None:
    weak = {"Fn::GetStackOutput": {"StackName": "P", "OutputName": "Out"}}
    stack = bench.create("P", producer(export=None))
    user = bench.create("C", consumer(weak))
    assert bench.provider.things["thing-2"] == {"Value": "thing-1"}
    bench.delete(stack)
    assert stack.status == "DELETE_COMPLETE"
    with pytest.raises(TemplateError, match="stack P does not exist in us-west-2"):
        bench.update(user, consumer(weak))


def test_a_weak_reference_to_a_missing_output_is_reported(bench: Bench) -> None:
    bench.create("P", producer())
    with pytest.raises(TemplateError, match="stack P has no output Nothing"):
        bench.create("C", consumer({"Fn::GetStackOutput": {"StackName": "P", "OutputName": "Nothing"}}))


def nested(url: str) -> dict[str, Any]:
    return {
        "Resources": {
            "Inner": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url, "Parameters": {"P": 7}}},
            "B": {"Type": "Test::Thing", "Properties": {"Value": {"Fn::GetAtt": ["Inner", "Outputs.Out"]}}},
        }
    }


def inner(**properties: Any) -> str:
    return json.dumps(
        {
            "Parameters": {"P": {"Type": "Number"}},
            "Resources": {"A": {"Type": "Test::Thing", "Properties": properties}},
            "Outputs": {"Out": {"Value": {"Fn::Sub": "${A}-${P}"}}},
        }
    )


def test_a_nested_stack_is_created_updated_and_deleted_with_its_parent(bench: Bench) -> None:
    bench.lookups.objects = {"http://one": inner(Value="1"), "http://two": inner(Value="2")}
    stack = bench.create("S", nested("http://one"))
    assert stack.status == "CREATE_COMPLETE"
    assert bench.provider.things == {"thing-1": {"Value": "1"}, "thing-2": {"Value": "thing-1-7"}}
    assert bench.update(stack, nested("http://two"))
    assert bench.provider.things["thing-1"] == {"Value": "2"}
    bench.delete(stack)
    assert bench.provider.things == {}


def test_a_failed_nested_stack_rolls_back_its_parent_and_reports_the_reason(bench: Bench) -> None:
    bench.lookups.objects = {"http://one": inner(Fail="create")}
    stack = bench.create("S", nested("http://one"))
    assert stack.status == "ROLLBACK_COMPLETE"
    assert any("no A for you" in (event.reason or "") for event in stack.events if event.logical_id == "Inner")
    assert [item.name for item in bench.engine.registry.living("us-west-2")] == ["S"]
