"""The query API, as boto3 calls it over HTTP."""

import json
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from werkzeug.serving import make_server

from llm_fleet_local.aws.router import Router
from tests.local.aws.conftest import REGION, Bench

TEMPLATE: dict[str, Any] = {
    "Description": "two things",
    "Parameters": {"Text": {"Type": "String", "Default": "x", "NoEcho": True}},
    "Resources": {
        "A": {"Type": "Test::Thing", "Properties": {"Name": "a", "Value": {"Ref": "Text"}}},
        "B": {"Type": "Test::Thing", "Properties": {"Value": {"Ref": "A"}}},
    },
    "Outputs": {"Out": {"Value": {"Ref": "B"}, "Description": "the second", "Export": {"Name": "second"}}},
}


def no_one(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("404 Not Found", [])
    return []


def nothing(requested: str) -> dict[str, Any]:
    return {"requested": requested}


@pytest.fixture
def cloudformation(bench: Bench) -> Iterator[Any]:
    """A boto3 client of a server that has only the emulator's CloudFormation."""
    server = make_server(
        "127.0.0.1",
        0,
        Router(bench.engine, no_one, default_region=REGION, invoke=nothing, steer=nothing),
        threaded=True,
    )
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    session: Any = boto3.session.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name=REGION)
    yield session.client("cloudformation", endpoint_url=f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()


def settled(client: Any, name: str) -> dict[str, Any]:
    deadline = time.monotonic() + 10
    while True:
        stack = client.describe_stacks(StackName=name)["Stacks"][0]
        if not stack["StackStatus"].endswith("_IN_PROGRESS"):
            return stack
        assert time.monotonic() < deadline, stack
        time.sleep(0.01)


def deploy(client: Any, template: dict[str, Any], kind: str = "CREATE", name: str = "S") -> dict[str, Any]:
    client.create_change_set(StackName=name, ChangeSetName="cs", ChangeSetType=kind, TemplateBody=json.dumps(template))
    client.execute_change_set(StackName=name, ChangeSetName="cs")
    return settled(client, name)


def rejected(call: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as error:
        call(**arguments)
    reported: Any = error.value.response
    return reported["Error"]["Code"], reported["Error"]["Message"]


def test_a_deployment_by_change_set_can_be_read_back(cloudformation: Any) -> None:
    stack = deploy(cloudformation, TEMPLATE)
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    assert stack["Description"] == "two things"
    assert stack["Outputs"] == [
        {"OutputKey": "Out", "OutputValue": "thing-2", "Description": "the second", "ExportName": "second"}
    ]
    assert stack["Parameters"] == [{"ParameterKey": "Text", "ParameterValue": "****"}]
    found = cloudformation.describe_stack_resources(StackName="S")["StackResources"]
    assert [(item["LogicalResourceId"], item["PhysicalResourceId"]) for item in found] == [
        ("A", "thing-1"),
        ("B", "thing-2"),
    ]
    exports = cloudformation.list_exports()["Exports"]
    assert exports == [{"ExportingStackId": stack["StackId"], "Name": "second", "Value": "thing-2"}]
    body = cloudformation.get_template(StackName="S", TemplateStage="Processed")["TemplateBody"]
    assert body == TEMPLATE
    summary = cloudformation.get_template_summary(StackName="S")
    assert summary["ResourceTypes"] == ["Test::Thing"]


def test_missing_resources_are_reported_with_the_text_that_the_cdk_expects(cloudformation: Any) -> None:
    assert rejected(cloudformation.describe_stacks, StackName="Gone") == (
        "ValidationError",
        "Stack with id Gone does not exist",
    )
    deploy(cloudformation, TEMPLATE)
    code, _ = rejected(cloudformation.describe_change_set, StackName="S", ChangeSetName="gone")
    assert code == "ChangeSetNotFound"
    cloudformation.delete_change_set(StackName="S", ChangeSetName="gone")
    cloudformation.delete_stack(StackName="Gone")


def test_each_operation_has_its_own_text_for_a_missing_stack(cloudformation: Any) -> None:
    bracketed = ("ValidationError", "Stack [Gone] does not exist")
    assert rejected(cloudformation.describe_stack_events, StackName="Gone") == bracketed
    assert rejected(cloudformation.describe_change_set, StackName="Gone", ChangeSetName="cs") == bracketed
    assert rejected(cloudformation.delete_change_set, StackName="Gone", ChangeSetName="cs") == bracketed
    assert rejected(cloudformation.describe_stack_resource, StackName="Gone", LogicalResourceId="A") == (
        "ValidationError",
        "Stack 'Gone' does not exist",
    )


def test_a_change_set_is_found_by_name_and_stack_or_by_arn(cloudformation: Any) -> None:
    deploy(cloudformation, TEMPLATE)
    assert rejected(cloudformation.delete_change_set, ChangeSetName="cs") == (
        "ValidationError",
        "StackName must be specified if ChangeSetName is not specified as an ARN.",
    )


def test_resources_are_found_by_stack_or_by_physical_id_but_not_both(cloudformation: Any) -> None:
    deploy(cloudformation, TEMPLATE)
    code, text = rejected(cloudformation.describe_stack_resources, StackName="S", PhysicalResourceId="thing-1")
    assert (code, "not both" in text) == ("ValidationError", True)
    assert cloudformation.describe_stack_resources(PhysicalResourceId="thing-1")["StackResources"]


def test_parameters_that_exclude_each_other_are_rejected(cloudformation: Any) -> None:
    body = json.dumps(TEMPLATE)
    both = {"TemplateBody": body, "TemplateURL": "https://bucket.s3.us-west-2.amazonaws.com/template.json"}
    assert "Only one of TemplateBody and TemplateURL" in rejected(cloudformation.create_stack, StackName="S", **both)[1]
    twice = {"DisableRollback": True, "OnFailure": "DELETE"}
    _, text = rejected(cloudformation.create_stack, StackName="S", TemplateBody=body, **twice)
    assert "but not both" in text
    change_set: dict[str, Any] = {"StackName": "S", "ChangeSetName": "cs"}
    create = {**change_set, "TemplateBody": body, "OnStackFailure": "DELETE"}
    cloudformation.create_change_set(**create, ChangeSetType="CREATE")
    assert "OnStackFailure" in rejected(cloudformation.execute_change_set, **change_set, DisableRollback=True)[1]
    deploy(cloudformation, TEMPLATE, name="T")
    _, text = rejected(cloudformation.create_change_set, **{**create, "StackName": "T"}, ChangeSetType="UPDATE")
    assert "of the type CREATE" in text


def test_a_change_set_is_not_executed_while_its_stack_is_changing(bench: Bench, cloudformation: Any) -> None:
    deploy(cloudformation, TEMPLATE)
    more = {**TEMPLATE, "Resources": {**TEMPLATE["Resources"], "C": {"Type": "Test::Thing"}}}
    for name in ("one", "two"):
        cloudformation.create_change_set(StackName="S", ChangeSetName=name, TemplateBody=json.dumps(more))
    bench.provider.delay = 0.5
    cloudformation.update_stack(StackName="S", TemplateBody=json.dumps(more))
    code, text = rejected(cloudformation.execute_change_set, StackName="S", ChangeSetName="two")
    assert code == "InvalidChangeSetStatus"
    assert "UPDATE_IN_PROGRESS" in text
    bench.provider.delay = 0
    settled(cloudformation, "S")


def test_a_change_set_without_changes_reports_it(cloudformation: Any) -> None:
    deploy(cloudformation, TEMPLATE)
    cloudformation.create_change_set(StackName="S", ChangeSetName="again", TemplateBody=json.dumps(TEMPLATE))
    found = cloudformation.describe_change_set(StackName="S", ChangeSetName="again")
    assert found["Status"] == "FAILED"
    assert found["ExecutionStatus"] == "UNAVAILABLE"
    assert found["StatusReason"].startswith("The submitted information didn't contain changes.")
    code, text = rejected(cloudformation.update_stack, StackName="S", TemplateBody=json.dumps(TEMPLATE))
    assert (code, text) == ("ValidationError", "No updates are to be performed.")
    code, _ = rejected(cloudformation.execute_change_set, StackName="S", ChangeSetName="again")
    assert code == "InvalidChangeSetStatus"


def test_a_change_set_reports_what_changes_and_what_is_replaced(cloudformation: Any) -> None:
    deploy(cloudformation, TEMPLATE)
    changed = json.loads(json.dumps(TEMPLATE))
    changed["Resources"]["A"]["Properties"]["Name"] = "other"
    changed["Resources"]["C"] = {"Type": "Test::Thing"}
    cloudformation.create_change_set(StackName="S", ChangeSetName="cs2", TemplateBody=json.dumps(changed))
    found = cloudformation.describe_change_set(StackName="S", ChangeSetName="cs2", IncludePropertyValues=True)
    changes = {item["ResourceChange"]["LogicalResourceId"]: item["ResourceChange"] for item in found["Changes"]}
    assert {name: (item["Action"], item.get("Replacement")) for name, item in changes.items()} == {
        "A": ("Modify", "True"),
        "B": ("Modify", "False"),
        "C": ("Add", None),
    }
    target = changes["A"]["Details"][0]["Target"]
    assert (target["BeforeValue"], target["AfterValue"], target["RequiresRecreation"]) == ("a", "other", "Always")
    assert changes["B"]["Details"][0]["Evaluation"] == "Dynamic"
    assert "KNOWN_AFTER_APPLY" in changes["B"]["AfterContext"]


def test_a_rejected_template_makes_a_failed_change_set_with_events(cloudformation: Any) -> None:
    wrong = {"Resources": {"A": {"Type": "Test::Thing", "Properties": {"Color": "red"}}}}
    cloudformation.create_change_set(
        StackName="S", ChangeSetName="cs", ChangeSetType="CREATE", TemplateBody=json.dumps(wrong)
    )
    found = cloudformation.describe_change_set(StackName="S", ChangeSetName="cs")
    assert found["Status"] == "FAILED"
    assert "AWS::EarlyValidation" in found["StatusReason"]
    events = cloudformation.describe_events(StackName="S", ChangeSetName="cs")["OperationEvents"]
    assert [(item["LogicalResourceId"], item["ValidationStatusReason"], item["ValidationPath"]) for item in events] == [
        ("A", "unknown property Color", "/Resources/A/Properties")
    ]


def test_events_are_returned_newest_first_in_pages_and_during_an_operation(bench: Bench, cloudformation: Any) -> None:
    bench.provider.delay = 0.05
    many = {"Resources": {f"T{number}": {"Type": "Test::Thing"} for number in range(60)}}
    cloudformation.create_stack(StackName="S", TemplateBody=json.dumps(many))
    time.sleep(0.2)
    early = cloudformation.describe_stack_events(StackName="S")["StackEvents"]
    assert cloudformation.describe_stacks(StackName="S")["Stacks"][0]["StackStatus"] == "CREATE_IN_PROGRESS"
    assert 1 < len(early) < 60
    bench.provider.delay = 0
    settled(cloudformation, "S")
    first = cloudformation.describe_stack_events(StackName="S")
    assert len(first["StackEvents"]) == 100
    assert first["StackEvents"][0]["ResourceStatus"] == "CREATE_COMPLETE"
    assert first["StackEvents"][0]["LogicalResourceId"] == "S"
    rest = cloudformation.describe_stack_events(StackName="S", NextToken=first["NextToken"])
    assert len(rest["StackEvents"]) == 122 - 100
    assert "NextToken" not in rest


def test_each_region_has_its_own_stacks(bench: Bench, cloudformation: Any) -> None:
    deploy(cloudformation, TEMPLATE)
    session: Any = boto3.session.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="eu-west-1")
    other = session.client("cloudformation", endpoint_url=cloudformation.meta.endpoint_url)
    assert other.describe_stacks()["Stacks"] == []
    assert deploy(other, TEMPLATE)["StackId"].startswith("arn:aws:cloudformation:eu-west-1:111122223333:stack/S/")


def test_a_deleted_stack_is_found_by_id_only(cloudformation: Any) -> None:
    stack = deploy(cloudformation, TEMPLATE)
    cloudformation.delete_stack(StackName="S")
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=stack["StackId"], WaiterConfig={"Delay": 0})
    assert cloudformation.describe_stacks(StackName=stack["StackId"])["Stacks"][0]["StackStatus"] == "DELETE_COMPLETE"
    assert rejected(cloudformation.describe_stacks, StackName="S")[0] == "ValidationError"
    assert [item["StackStatus"] for item in cloudformation.list_stacks()["StackSummaries"]] == ["DELETE_COMPLETE"]


def test_one_stack_takes_one_operation_at_a_time(bench: Bench, cloudformation: Any) -> None:
    bench.provider.delay = 0.2
    cloudformation.create_stack(StackName="S", TemplateBody=json.dumps(TEMPLATE))
    code, text = rejected(cloudformation.update_stack, StackName="S", TemplateBody=json.dumps(TEMPLATE))
    assert code == "ValidationError"
    assert "CREATE_IN_PROGRESS state and can not be updated" in text
    code, _ = rejected(cloudformation.create_stack, StackName="S", TemplateBody=json.dumps(TEMPLATE))
    assert code == "AlreadyExistsException"


def test_unsupported_operations_are_rejected_by_name(cloudformation: Any) -> None:
    deploy(cloudformation, TEMPLATE)
    code, text = rejected(cloudformation.detect_stack_drift, StackName="S")
    assert (code, text) == ("InvalidAction", "DetectStackDrift is not supported by the AWS emulator")
