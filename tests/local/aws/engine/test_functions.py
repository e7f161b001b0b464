"""Every intrinsic function, tested through the outputs of a stack."""

import re
from typing import Any

import pytest

from tests.local.aws.conftest import Bench

BASE: dict[str, Any] = {
    "Parameters": {
        "Size": {"Type": "Number", "Default": 3},
        "Names": {"Type": "CommaDelimitedList", "Default": "a, b"},
    },
    "Mappings": {"Map": {"us-west-2": {"ami": "ami-1"}}},
    "Conditions": {
        "Yes": {"Fn::Equals": [{"Ref": "Size"}, 3]},
        "No": {"Fn::Not": [{"Condition": "Yes"}]},
        "Both": {"Fn::And": [{"Condition": "Yes"}, {"Condition": "No"}]},
        "Either": {"Fn::Or": [{"Condition": "Yes"}, {"Condition": "No"}]},
    },
    "Resources": {"Thing": {"Type": "Test::Thing", "Properties": {"Value": "v"}}},
}


def output_of(bench: Bench, value: Any) -> str:
    template = {**BASE, "Outputs": {"Out": {"Value": value}}}
    stack = bench.create("S", template)
    assert stack.status == "CREATE_COMPLETE", stack.events[-3:]
    return stack.outputs[0].value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"Ref": "Thing"}, "thing-1"),
        ({"Ref": "Size"}, "3"),
        ({"Fn::GetAtt": ["Thing", "Arn"]}, "arn:thing-1"),
        ({"Fn::GetAtt": "Thing.Arn"}, "arn:thing-1"),
        ({"Fn::Sub": "${Thing}/${Thing.Arn}/${!Literal}/${AWS::Region}"}, "thing-1/arn:thing-1/${Literal}/us-west-2"),
        ({"Fn::Sub": ["${x}-${Size}", {"x": {"Ref": "Thing"}}]}, "thing-1-3"),
        ({"Fn::Join": ["-", ["a", {"Ref": "AWS::NoValue"}, {"Ref": "Size"}, True]]}, "a-3-true"),
        ({"Fn::Join": ["|", {"Ref": "Names"}]}, "a|b"),
        ({"Fn::Select": ["1", {"Fn::Split": [":", "a:b:c"]}]}, "b"),
        ({"Fn::Select": [2, {"Fn::GetAZs": ""}]}, "us-west-2c"),
        ({"Fn::Select": [1, {"Fn::Cidr": ["10.0.0.0/16", 4, 8]}]}, "10.0.1.0/24"),
        ({"Fn::FindInMap": ["Map", {"Ref": "AWS::Region"}, "ami"]}, "ami-1"),
        ({"Fn::Base64": "hello"}, "aGVsbG8="),
        ({"Fn::If": ["Yes", "y", {"Ref": "AWS::NoValue"}]}, "y"),
        ({"Fn::If": ["No", "y", "n"]}, "n"),
        ({"Fn::If": ["Both", "y", "n"]}, "n"),
        ({"Fn::If": ["Either", "y", "n"]}, "y"),
        ({"Ref": "AWS::URLSuffix"}, "amazonaws.com"),
    ],
)
def test_a_function_returns_the_same_as_in_cloudformation(bench: Bench, value: Any, expected: str) -> None:
    assert output_of(bench, value) == expected


def test_the_stack_id_ends_in_a_guid(bench: Bench) -> None:
    guid = {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}
    assert re.fullmatch("[0-9a-f]{8}", output_of(bench, {"Fn::Select": [0, {"Fn::Split": ["-", guid]}]}))


def test_a_member_with_no_value_is_omitted(bench: Bench) -> None:
    template = {
        "Resources": {
            "Thing": {
                "Type": "Test::Thing",
                "Properties": {"Name": {"Ref": "AWS::NoValue"}, "Values": ["a", {"Ref": "AWS::NoValue"}]},
            }
        }
    }
    bench.create("S", template)
    assert bench.provider.things == {"thing-1": {"Values": ["a"]}}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"Ref": "Missing"}, "Ref: Missing"),
        ({"Fn::GetAtt": ["Missing", "Arn"]}, "GetAtt: Missing"),
        ({"Fn::GetAtt": ["Thing", "Color"]}, "has no attribute Color; allowed: Arn, Value"),
        ({"Fn::Sub": "${Thing.Color}"}, "has no attribute Color"),
        ({"Fn::If": ["Maybe", 1, 2]}, "condition Maybe is not declared"),
        ({"Fn::Transform": {"Name": "AWS::Include"}}, "function Fn::Transform is not supported"),
        ({"Fn::Select": [3, ["a"]]}, "cannot select nonexistent value at index 3"),
        ({"Fn::FindInMap": ["Map", "eu-west-1", "ami"]}, "Unable to get mapping for Map::eu-west-1::ami"),
        ({"Fn::FindInMap": ["Map", "eu-west-1", "ami", {"DefaultValue": "none"}]}, "requires three parameters"),
        ({"Fn::FindInMap": "Map"}, "requires three parameters"),
        ("key {{resolve:ssm-secure:/key:1}}", "SSM Secure reference is not supported here"),
        ({"Fn::Sub": "{{resolve:ssm-secure:${Size}}}"}, "SSM Secure reference is not supported here"),
        ({"Fn::Cidr": ["10.0.0.0/24", 4, 8]}, "cannot create 4 blocks of /24"),
        ({"Fn::Cidr": ["10.0.0.0/8", 257, 8]}, "creates 1 to 256 blocks, not 257"),
    ],
)
def test_an_error_is_reported_before_anything_is_created(bench: Bench, value: Any, said: str) -> None:
    user = {"Type": "Test::Thing", "Properties": {"Value": value}}
    assert said in bench.rejection({**BASE, "Resources": {**BASE["Resources"], "User": user}})
