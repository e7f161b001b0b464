"""The hash in a cluster's name: it depends exactly on the parts that an update cannot change."""

from collections.abc import Iterator
from typing import Any

import pytest

from llm_fleet.rules.parallelcluster.cluster_names import (
    HASH_SUFFIX_LENGTH,
    identity_hash,
    immutable_parts,
    name_with_hash,
)
from llm_fleet.rules.parallelcluster.update_changes import Key, top_level_keys
from llm_fleet_local.parallelcluster.client import Oracle
from tests.rules.parallelcluster.update.configurations import MANAGED_LUSTRE, append, base, drop, edited, put

VERSION = "3.16.1"


def digits(configuration: dict[str, Any]) -> str:
    return identity_hash(configuration, VERSION)


def test_the_name_ends_with_eight_hexadecimal_digits() -> None:
    name = name_with_hash("train", base(), VERSION)
    assert name == f"train-{digits(base())}"
    assert len(name) == len("train") + HASH_SUFFIX_LENGTH
    assert int(digits(base()), 16) >= 0


def test_another_version_has_another_hash() -> None:
    assert identity_hash(base(), "3.16.1") != identity_hash(base(), "3.16.2")


def test_the_hash_does_not_depend_on_the_order_of_keys_and_the_form_of_scalars() -> None:
    configuration = base()
    backwards = dict(reversed(list(configuration.items())))
    backwards["HeadNode"] = dict(reversed(list(configuration["HeadNode"].items())))
    backwards["HeadNode"]["LocalStorage"] = {"RootVolume": {"VolumeType": "gp3", "Size": "100"}}
    assert digits(backwards) == digits(configuration)


_ONE = {"Name": "x", "ComputeResources": [{"Name": "x", "InstanceType": "c5.large"}]}


@pytest.mark.parametrize(
    "edit",
    [
        append("Scheduling/SlurmQueues", _ONE),
        drop("Scheduling/SlurmQueues/cpu"),
        append("Scheduling/SlurmQueues/trn1/ComputeResources", _ONE["ComputeResources"][0]),
        drop("Scheduling/SlurmQueues/trn1/ComputeResources/spare"),
        append("LoginNodes/Pools", {"Name": "x", "InstanceType": "c5.large", "Count": 1}),
        drop("LoginNodes"),
        append("SharedStorage", MANAGED_LUSTRE),
        drop("SharedStorage/fsx"),
        put("SharedStorage/fsx/FsxLustreSettings/FileSystemId", "fs-0123456789abcdef7"),
        put("HeadNode/CustomActions/OnNodeConfigured/Args", ["other"]),
        drop("HeadNode/CustomActions"),
        append("Tags", {"Key": "owner", "Value": "me"}),
        put("DevSettings/Cookbook/ExtraChefAttributes", '{"cluster": {"nvidia": {"enabled": true}}}'),
    ],
)
def test_the_hash_does_not_depend_on_parts_that_an_update_can_change(edit: Any) -> None:
    assert digits(edited(base(), edit)) == digits(base())


@pytest.mark.parametrize(
    "edit",
    [
        drop("SharedStorage/home"),
        put("SharedStorage/home/Name", "other"),
        put("SharedStorage/home/EfsSettings/FileSystemId", "fs-0123456789abcdef7"),
        put("SharedStorage/fsx/MountDir", "/home"),
        put("HeadNode/Networking/ElasticIp", False),
        put("DevSettings/Cookbook/ExtraChefAttributes", '{"cluster": {"nvidia": {"enabled": false}}}'),
        put("HeadNode/SharedStorageType", "Efs"),
        put("HeadNode", {"Fn::If": ["Big", {}, {}]}),
        drop("Monitoring/Logs"),
    ],
)
def test_the_hash_depends_on_immutable_parts(edit: Any) -> None:
    assert digits(edited(base(), edit)) != digits(base())


def test_the_hash_depends_on_references_and_tokens_are_rejected() -> None:
    reference = edited(base(), put("HeadNode/Networking/SubnetId", {"Ref": "Subnet"}))
    other = edited(base(), put("HeadNode/Networking/SubnetId", {"Ref": "Other"}))
    assert len({digits(reference), digits(other), digits(base())}) == 3
    with pytest.raises(ValueError, match="HeadNode/Networking/SubnetId"):
        digits(edited(base(), put("HeadNode/Networking/SubnetId", "${Token[TOKEN.42]}")))


# Every key of the schema once, changed one after the other.


def _value(key: Key, number: int) -> Any:
    if key.name == "ExtraChefAttributes":
        return f'{{"any": {number}}}'
    return [str(number)] if key.is_list else str(number)


def _full(keys: dict[str, Key], number: int) -> dict[str, Any]:
    section: dict[str, Any] = {}
    for key in keys.values():
        if key.has_items:
            section[key.name] = [{**_full(dict(key.children), number), str(key.item_key): "item"}]
        else:
            section[key.name] = _full(dict(key.children), number) if key.is_section else _value(key, number)
    return section


def _leaves(keys: dict[str, Key], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Key]]:
    for key in keys.values():
        if key.is_section:
            step = (key.name, "0") if key.has_items else (key.name,)
            yield from ((where, leaf) for where, leaf in _leaves(dict(key.children), (*place, *step)) if where)
        else:
            yield (*place, key.name), key


def _reported(path: tuple[str, ...]) -> str:
    return "/".join(path).replace("/0", "[item]")


def test_the_hash_depends_on_a_key_exactly_if_parallelcluster_cannot_change_it(oracle: Oracle) -> None:
    keys = dict(top_level_keys())
    before, after = _full(keys, 1), _full(keys, 2)
    rows = oracle.update(before, after, fleet_stopped=True, login_nodes_stopped=True)
    never = {row.path for row in rows if row.verdict != "SUCCEEDED"}
    # Items of lists can be added and removed; the head node's scripts contain the name. AmiSearchFilters and its items
    # are immutable.
    fixed = {path for path in never if "[" not in path and not path.startswith("HeadNode/CustomActions")}
    assert len(fixed) > 40
    counted = {
        _reported(path)
        for path, key in _leaves(keys)
        if digits(edited(before, put("/".join(path), _value(key, 2)))) != digits(before)
        and path[-1] != "Key"  # The key that identifies a tag is not a value that changes.
    }
    assert counted == fixed
    assert immutable_parts(before)
