"""Keys in ParallelCluster's own spelling."""

from collections.abc import Iterator
from typing import Any

import pytest

from llm_fleet.catalog.parallelcluster import SECTION, SchemaKey, parallelcluster_schema
from llm_fleet.rules.codes import Code
from llm_fleet.rules.parallelcluster.overrides import TYPED_KEYS, Place, check_overrides
from llm_fleet.rules.problem import PathPart
from llm_fleet.spec.parallelcluster import PlacedParallelCluster, SlurmSettings
from llm_fleet.spec.parallelcluster_nodes import HeadNode, LoginPool
from llm_fleet.spec.parallelcluster_queue import ComputeResource, Queue
from tests.rules.parallelcluster.shapes import (
    Cluster,
    only,
    with_head,
    with_pool,
    with_queue,
    with_resource,
    with_slurm,
)

VALUES: dict[Place, type] = {
    Place.HEAD_NODE: HeadNode,
    Place.SLURM: SlurmSettings,
    Place.QUEUE: Queue,
    Place.COMPUTE_RESOURCE: ComputeResource,
    Place.LOGIN_POOL: LoginPool,
    Place.CLUSTER: PlacedParallelCluster,
}


def leaves(key: SchemaKey) -> Iterator[SchemaKey]:
    for below in key.keys.values():
        if below.kind == SECTION:
            yield from leaves(below)
        else:
            yield below


def place_of(leaf: str) -> Place:
    """Return the nearest place of overrides above `leaf`."""
    return max((place for place in Place if leaf.startswith(f"{place}/") or not place), key=len)


def nested(path: str, value: Any) -> Any:
    """Return `value` nested below the keys of `path`."""
    for part in reversed(path.split("/")):
        inner = [value] if part.endswith("[]") else value
        value = {part.removesuffix("[]"): inner}
    return value


SCHEMA_LEAVES = [leaf.place for leaf in leaves(parallelcluster_schema()) if not leaf.place.startswith("SharedStorage")]


def test_every_key_can_be_set_in_exactly_one_way() -> None:
    """By an attribute, by an override, or, for scripts, by a custom step."""
    ways: dict[str, list[Code]] = {}
    for leaf in SCHEMA_LEAVES:
        place = place_of(leaf)
        found = check_overrides(nested(leaf.removeprefix(f"{place}/"), None), place)
        rejections = (Code.PC_OVERRIDE_TYPED, Code.PC_OVERRIDE_SCRIPT, Code.PC_KEY_UNKNOWN)
        ways[leaf] = [problem.code for problem in found if problem.code in rejections]
    assert [leaf for leaf, way in ways.items() if len(way) > 1 or Code.PC_KEY_UNKNOWN in way] == []
    scripts = {leaf for leaf, way in ways.items() if way == [Code.PC_OVERRIDE_SCRIPT]}
    assert scripts == {leaf for leaf in SCHEMA_LEAVES if "CustomActions" in leaf}
    free = {leaf for leaf, way in ways.items() if not way}
    assert {"Iam/ResourcePrefix", "DirectoryService/DomainName", "HeadNode/Networking/Proxy/HttpProxyAddress"} <= free
    assert len(free) > 60


@pytest.mark.parametrize("place", Place)
def test_the_suggested_attribute_exists(place: Place) -> None:
    for attribute in TYPED_KEYS[place].values():
        first = attribute.split(" ")[0].split(".")[0]
        part = PlacedParallelCluster if "of the cluster" in attribute else VALUES[place]
        assert hasattr(part, first) or first in getattr(part, "model_fields", ()), attribute


@pytest.mark.parametrize("place", Place)
def test_empty_overrides_have_no_problems(place: Place) -> None:
    assert check_overrides({}, place) == []


@pytest.mark.parametrize(
    ("place", "overrides", "code", "where", "remedy"),
    [
        (Place.QUEUE, {"CapacityType": "SPOT"}, Code.PC_OVERRIDE_TYPED, "CapacityType", "use capacity_type"),
        (
            Place.QUEUE,
            {"Networking": {"SubnetIds": []}},
            Code.PC_OVERRIDE_TYPED,
            "Networking.SubnetIds",
            "use subnets",
        ),
        (
            Place.HEAD_NODE,
            {"LocalStorage": {"RootVolume": {"Size": "many"}}},
            Code.PC_OVERRIDE_TYPED,
            "LocalStorage.RootVolume.Size",
            "use root_volume",
        ),
        (
            Place.CLUSTER,
            {"HeadNode": {"Imds": {"Secured": False}}},
            Code.PC_OVERRIDE_TYPED,
            "HeadNode",
            "use head_node and its overrides",
        ),
        (
            Place.CLUSTER,
            {"Scheduling": {"SlurmSettings": {}}},
            Code.PC_OVERRIDE_TYPED,
            "Scheduling.SlurmSettings",
            "use slurm and its overrides",
        ),
        (
            Place.SLURM,
            {"Database": {"Uri": "db:3306"}},
            Code.PC_OVERRIDE_TYPED,
            "Database",
            "use accounting of the cluster",
        ),
        (
            Place.HEAD_NODE,
            {"CustomActions": {"OnNodeStart": {"Script": "https://example.com/a.sh"}}},
            Code.PC_OVERRIDE_SCRIPT,
            "CustomActions",
            "write an own step (OwnStep) instead: it runs with the other steps, with retries, a time limit and "
            "a report",
        ),
        (
            Place.QUEUE,
            {"Efa": {"Enabled": True}},
            Code.PC_KEY_UNKNOWN,
            "Efa",
            "move it: it belongs below Scheduling/SlurmQueues/ComputeResources",
        ),
        (
            Place.COMPUTE_RESOURCE,
            {"LaunchTemplateOverrides": {"LaunchTemplateId": "lt-0123456789abcdef0"}},
            Code.PC_KEY_MISSING,
            "LaunchTemplateOverrides.Version",
            "write Version",
        ),
        (
            Place.CLUSTER,
            {"DirectoryService": {"DomainName": "dc=a", "DomainAddr": "ldap://a", "DomainReadOnlyUser": "cn=a"}},
            Code.PC_KEY_MISSING,
            "DirectoryService.PasswordSecretArn",
            "write PasswordSecretArn",
        ),
        (
            Place.CLUSTER,
            {"Imds": {"ImdsSupport": "v2"}},
            Code.PC_KEY_VALUE,
            "Imds.ImdsSupport",
            "write `v2.0`",
        ),
    ],
)
def test_invalid_overrides_are_reported(
    place: Place, overrides: dict[str, Any], code: Code, where: str, remedy: str
) -> None:
    (problem,) = check_overrides(overrides, place)
    assert (problem.code, problem.where, problem.remedy) == (code, f"overrides.{where}", remedy)


@pytest.mark.parametrize("wrong", [None, ["Networking"], "Networking", 3])
def test_overrides_must_be_a_mapping(wrong: Any) -> None:
    (problem,) = check_overrides(wrong, Place.QUEUE)
    assert (problem.code, problem.where) == (Code.PC_KEY_TYPE, "overrides")
    (problem,) = check_overrides({wrong if isinstance(wrong, int) else 7: 1}, Place.QUEUE)  # pyright: ignore[reportArgumentType]
    assert problem.code is Code.PC_KEY_UNKNOWN


def test_all_problems_are_reported_together() -> None:
    overrides = {
        "Name": "other",
        "CustomActions": {},
        "Qwertyuiop": 1,
        "Networking": {"Proxy": {"HttpProxyAddress": 3}},
    }
    assert [problem.code for problem in check_overrides(overrides, Place.QUEUE)] == [
        Code.PC_OVERRIDE_TYPED, Code.PC_OVERRIDE_SCRIPT, Code.PC_KEY_UNKNOWN, Code.PC_KEY_TYPE,
    ]  # fmt: skip


def test_a_section_with_attributes_requires_no_additional_keys() -> None:
    """`Networking` requires `SubnetIds`, which is an attribute."""
    proxy = {"Networking": {"Proxy": {"HttpProxyAddress": "https://proxy:3128"}}}
    for place in (Place.HEAD_NODE, Place.QUEUE, Place.LOGIN_POOL):
        assert check_overrides(proxy, place) == []


MISSPELLED: dict[str, Any] = {"Mispelt": 1}


@pytest.mark.parametrize(
    ("cluster", "path"),
    [
        (Cluster(overrides=MISSPELLED), ()),
        (with_head(overrides=MISSPELLED), ("head_node",)),
        (with_slurm(overrides=MISSPELLED), ("slurm",)),
        (with_queue(overrides=MISSPELLED), ("queues", "work")),
        (with_resource(overrides=MISSPELLED), ("queues", "work", "compute_resources", "nodes")),
        (with_pool(overrides=MISSPELLED), ("login_pools", "users")),
    ],
    ids=["cluster", "head node", "slurm", "queue", "compute resource", "login pool"],
)
def test_an_unknown_key_is_reported(cluster: PlacedParallelCluster, path: tuple[PathPart, ...]):
    assert only(cluster, Code.PC_KEY_UNKNOWN, *path, "overrides", "Mispelt").value == "Mispelt"
