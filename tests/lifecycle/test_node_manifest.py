"""The manifest: checked when made, rendered in one shape, and understood alike by both sides."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from llm_fleet.catalog.instance_type import InstanceType
from llm_fleet.lifecycle.node_manifest import NodeGroup, NodeManifest, NodeMount, render
from llm_fleet.rules.problem import FleetError
from llm_fleet.rules.terms import LifecycleHook, NodeType
from llm_fleet_node.failures import Failure
from llm_fleet_node.manifest import check
from llm_fleet_node.schema import KEYWORDS

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent / "manifests"
SCHEMA: dict[str, Any] = json.loads((ROOT / "lifecycle_scripts" / "fleet.schema.json").read_text(encoding="utf-8"))

CONTROLLER = NodeGroup(name="controller", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"])
WORKERS = NodeGroup(name="workers", role=NodeType.COMPUTE, instance_types=["ml.trn1.32xlarge"], partition="trn1")
FSX = NodeMount(kind="lustre", dns_name="fs-1.example", mount_name="abcdefgh", mount_path="/fsx", efa=True)
HOME = NodeMount(kind="open_zfs", dns_name="fs-2.example", mount_path="/home")


def _manifest(**changed: Any) -> NodeManifest:
    given: dict[str, Any] = {"fleet_name": "demo", "region": "us-west-2", "cluster_name": "train"}
    given |= {"groups": [CONTROLLER, WORKERS], "mounts": [FSX, HOME]}
    return NodeManifest(**(given | changed))


def test_rendered_manifest_meets_the_schema_and_tells_what_nodes_must_find() -> None:
    rendered = render(_manifest(), content_hash="a" * 64, scripts_sha256="b" * 64)
    jsonschema.validate(rendered, SCHEMA)
    check(rendered, SCHEMA)
    assert rendered["groups"][1] == {
        "name": "workers",
        "role": "Compute",
        "hook": "OnInitComplete",
        "partition": "trn1",
        "instance_types": [
            {"name": "ml.trn1.32xlarge", "accelerator": "neuron", "accelerators": 16, "efa_interfaces": 8}
        ],
    }


def test_a_type_newer_than_the_catalog_is_rendered_with_what_its_user_told() -> None:
    new = InstanceType.of(
        "ml.trn9.48xlarge", network_cards=16, accelerator="neuron", accelerators=64, efa_interfaces=16
    )
    workers = NodeGroup(name="workers", role=NodeType.COMPUTE, instance_types=[new], partition="trn9")
    rendered = render(_manifest(groups=[CONTROLLER, workers]), content_hash="a" * 64, scripts_sha256="b" * 64)
    check(rendered, SCHEMA)
    expected = {"name": "ml.trn9.48xlarge", "accelerator": "neuron", "accelerators": 64, "efa_interfaces": 16}
    assert rendered["groups"][1]["instance_types"] == [expected]


def test_a_type_that_the_catalog_does_not_know_is_rendered_without_expectations() -> None:
    group = NodeGroup(name="new", role=NodeType.COMPUTE, instance_types=["ml.trn9.xlarge"], partition="p", hook=None)
    rendered = render(_manifest(groups=[group]), content_hash="a" * 64, scripts_sha256="b" * 64)
    check(rendered, SCHEMA)
    assert rendered["groups"][0]["hook"] is None
    assert rendered["groups"][0]["instance_types"][0]["efa_interfaces"] is None


@pytest.mark.parametrize(
    ("changed", "code", "remedy"),
    [
        ({"groups": [CONTROLLER, CONTROLLER]}, "LF410", "a name of its own"),
        ({"groups": [NodeGroup(name="a", role=NodeType.COMPUTE, instance_types=[])]}, "LF410", "ml. type"),
        ({"mounts": [FSX, NodeMount(kind="open_zfs", dns_name="x", mount_path="/fsx/")]}, "LF411", "path of its own"),
        ({"mounts": [NodeMount(kind="open_zfs", dns_name="x", mount_path="home")]}, "LF411", "like /fsx or /home"),
        ({"mounts": [NodeMount(kind="open_zfs", dns_name="x", mount_path="/")]}, "LF411", "like /fsx or /home"),
        ({"mounts": [NodeMount(kind="open_zfs", dns_name="x", mount_path="/a/../b")]}, "LF411", "like /fsx or /home"),
        ({"mounts": [NodeMount(kind="lustre", dns_name="x", mount_path="/fsx")]}, "LF411", "mount name"),
        ({"mounts": [NodeMount(kind="open_zfs", dns_name="x", mount_path="/h", mount_name="a")]}, "LF411", "OpenZFS"),
    ],
)
def test_a_manifest_that_nodes_could_not_use_is_refused(changed: dict[str, Any], code: str, remedy: str) -> None:
    with pytest.raises(FleetError) as caught:
        _manifest(**changed)
    assert [problem.code.value for problem in caught.value.problems] == [code]
    assert remedy in caught.value.problems[0].remedy


def test_names_known_only_at_deploy_time_pass() -> None:
    token = "${Token[TOKEN.7]}"
    _manifest(region=token, mounts=[NodeMount(kind="lustre", dns_name=token, mount_name=token, mount_path=token)])


def test_a_custom_hook_is_rendered_as_the_api_spells_it() -> None:
    group = NodeGroup(name="c", role=NodeType.CONTROLLER, instance_types=["ml.m5.xlarge"], hook=LifecycleHook.ON_CREATE)
    assert render(_manifest(groups=[group]), content_hash="", scripts_sha256="")["groups"][0]["hook"] == "OnCreate"


@pytest.mark.parametrize("path", sorted(HERE.glob("*/*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_both_sides_agree_on_every_file(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    good = path.parent.name == "good"
    assert _full_check_takes(document) == good
    assert _node_takes(document) == good


def test_the_nodes_check_every_keyword_of_the_schema() -> None:
    describing = {"$schema", "title", "$defs"}
    assert _keywords(SCHEMA) - describing <= KEYWORDS


def _full_check_takes(document: Any) -> bool:
    try:
        jsonschema.validate(document, SCHEMA, jsonschema.Draft202012Validator)
    except jsonschema.ValidationError:
        return False
    return True


def _node_takes(document: object) -> bool:
    try:
        check(document, SCHEMA)
    except Failure:
        return False
    return True


def _keywords(schema: dict[str, Any]) -> set[str]:
    found = set(schema)
    for name in ("properties", "$defs"):
        for nested in schema.get(name, {}).values():
            found |= _keywords(nested)
    return found | (_keywords(schema["items"]) if "items" in schema else set())
