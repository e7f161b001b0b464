"""Values that are resolved at deployment are replaced by valid values for their keys."""

import re
from typing import Any

import pytest

from llm_fleet_local.parallelcluster.dummies import without_tokens

SUBNET = re.compile(r"subnet-[0-9a-f]{17}")


def plain(value: Any, *keys: str) -> Any:
    """Return the replacement of a value below some keys."""
    for key in reversed(keys):
        value = {key: value}
    found: Any = without_tokens(value)
    for key in keys:
        found = found[key]
    return found


def test_each_token_has_its_own_dummy_which_is_always_the_same() -> None:
    first, second, third = plain([{"Ref": "A"}, {"Ref": "A"}, {"Ref": "B"}], "SubnetIds")
    assert SUBNET.fullmatch(first)
    assert first == second != third


@pytest.mark.parametrize(
    ("value", "keys", "pattern"),
    [
        ({"Ref": "A"}, ("HeadNode", "Networking", "SubnetId"), SUBNET.pattern),
        ("${Token[TOKEN.7]}", ("HeadNode", "Networking", "SubnetId"), SUBNET.pattern),
        ({"Ref": "A"}, ("FsxLustreSettings", "FileSystemId"), "fs-[0-9a-f]{17}"),
        ({"Ref": "A"}, ("EbsSettings", "VolumeId"), "vol-[0-9a-f]{17}"),
        ({"Ref": "A"}, ("FsxOpenZfsSettings", "VolumeId"), "fsvol-[0-9a-f]{17}"),
        ({"Fn::Join": ["", ["s3://", {"Ref": "B"}, "/x/entry.sh"]]}, ("Script",), "s3://x[0-9a-f]{8}/x/entry.sh"),
        ({"Fn::Join": ["", [{"Fn::GetAtt": ["B", "Uri"]}, "entry.sh"]]}, ("Script",), "s3://bucket-.*entry.sh"),
        ("${Token[TOKEN.7]}entry.sh", ("Script",), "s3://bucket-.*entry.sh"),
        ({"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/X"}, ("Policy",), "arn:aws:iam::aws:policy/X"),
        ({"Fn::Join": ["", [{"Fn::GetAtt": ["D", "Endpoint.Port"]}]]}, ("Uri",), "3306"),
        ({"Fn::If": ["C", "yes", "no"]}, ("Name",), "yes"),
    ],
)
def test_a_dummy_is_valid_for_its_key(value: Any, keys: tuple[str, ...], pattern: str) -> None:
    assert re.fullmatch(pattern, plain(value, *keys))


def test_numbers_booleans_and_lists_keep_their_types() -> None:
    queue = ("Scheduling", "SlurmQueues")
    resource = {"ComputeResources": [{"MaxCount": -1.8881545897087e289, "Efa": {"Enabled": {"Ref": "E"}}}]}
    (found,) = plain([resource | {"Networking": {"SubnetIds": {"Ref": "List"}}}], *queue)
    assert found["ComputeResources"] == [{"MaxCount": 1, "Efa": {"Enabled": True}}]
    (subnet,) = found["Networking"]["SubnetIds"]
    assert SUBNET.fullmatch(subnet)


def test_keys_with_no_value_are_omitted_and_others_unchanged() -> None:
    assert without_tokens({"A": {"Ref": "AWS::NoValue"}, "B": [1, {"Ref": "AWS::NoValue"}], "C": False}) == {
        "B": [1],
        "C": False,
    }
