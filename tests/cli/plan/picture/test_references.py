"""What a value refers to is found however it is written, and in other stacks as well."""

from pathlib import Path
from typing import Any

import pytest

from llm_fleet.cli.plan.picture.assembly import Assembly
from llm_fleet.cli.plan.picture.references import References
from tests.cli.plan.picture.assembly_of import assembly_of

BUCKET: dict[str, Any] = {"Type": "AWS::S3::Bucket"}


@pytest.fixture
def references(tmp_path: Path) -> References:
    outputs = {
        "Told": {"Value": {"Fn::GetAtt": ["Kept", "Arn"]}},
        "Exported": {"Value": {"Ref": "Kept"}, "Export": {"Name": "kept-name"}},
    }
    stores = {"Resources": {"Kept": BUCKET, "Other": BUCKET}, "Outputs": outputs}
    return References(Assembly.read(assembly_of({"stores": stores, "user": {"Resources": {"Kept": BUCKET}}}, tmp_path)))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"Ref": "Kept"}, ["user.Kept"]),
        ({"Ref": "AWS::Region"}, []),
        ({"Fn::GetAtt": "Kept.Arn"}, ["user.Kept"]),
        ({"Fn::Sub": "s3://${Kept}/${AWS::Region}/${Kept.Arn}"}, ["user.Kept"]),
        ({"Fn::Sub": ["s3://${Kept}/${a}", {"a": {"Fn::ImportValue": "kept-name"}}]}, ["user.Kept", "stores.Kept"]),
        ({"Fn::GetStackOutput": {"StackName": "stores", "OutputName": "Told"}}, ["stores.Kept"]),
        ({"Fn::GetStackOutput": {"StackName": "elsewhere", "OutputName": "Told"}}, []),
        ({"Fn::ImportValue": "kept-name"}, ["stores.Kept"]),
        ([{"Fn::Join": ["", ["arn:", {"Ref": "Kept"}]]}, {"a": {"b": {"Ref": "Kept"}}}], ["user.Kept"]),
        ("Kept", []),
    ],
)
def test_what_is_named_is_found(references: References, value: Any, found: list[str]):
    assert [resource.key for resource in references.of(value, "user")] == found


def test_a_text_is_told_with_what_is_known(references: References):
    joined = {"Fn::Join": ["-", ["sagemaker", {"Ref": "AWS::StackId"}, 1]]}
    assert references.told(joined) == "sagemaker-…-1"
    assert list(references.texts({"a": ["x", {"b": "y"}]})) == ["x", "y"]
