"""Identity of the node: each format of the platform's files, and wrong or contradictory content."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_fleet_node.addresses import local_addresses
from llm_fleet_node.failures import Failure
from llm_fleet_node.identity import Identity, identify
from llm_fleet_node.manifest import read
from llm_fleet_node.places import Places
from tests.lifecycle_scripts.throwaway_node import OWN_ADDRESSES, Node, resource_config

FIRST, SECOND = OWN_ADDRESSES
OTHER = "10.1.0.200"
NODE_INFO = {"instance_group_name": "trn", "node_type": "compute", "ip_address": FIRST, "cluster_name": "train"}


def test_all_addresses_except_loopback_and_broadcast_are_found(node: Node) -> None:
    assert local_addresses(node.root / "proc/net/fib_trie") == set(OWN_ADDRESSES)


def test_this_machines_own_table_can_be_read() -> None:
    assert not any(address.startswith("127.") for address in local_addresses(Path("/proc/net/fib_trie")))


@pytest.mark.parametrize("address", OWN_ADDRESSES)
def test_any_address_of_the_node_is_enough(node: Node, address: str) -> None:
    node.has("resource_config.json", resource_config({"head": ["10.1.0.5"], "trn": [OTHER, address]}))
    found = _identify(node)
    assert (found.group.name, found.instance_id, found.instance_name) == ("trn", "i-trn2", "trn-2")


def test_the_controller_is_identified_by_its_address(node: Node) -> None:
    node.has("resource_config.json", resource_config({"head": None, "trn": None}, controller=FIRST))
    assert _identify(node).group.role == "Controller"


def test_without_a_slurm_block_the_controllers_address_is_that_of_its_instance(node: Node) -> None:
    node.has("resource_config.json", resource_config({"head": ["10.1.0.9"], "trn": [FIRST]}, controller=None))
    assert _identify(node).controllers == ("10.1.0.9",)
    node.has("resource_config.json", resource_config({"head": ["10.1.0.9"], "trn": [FIRST]}))
    assert _identify(node).controllers == ("10.1.0.5",)


def test_null_instances_and_a_type_of_one_group_leave_one_group(node: Node) -> None:
    node.has("resource_config.json", resource_config({"head": None, "trn": None}))
    node.is_of_type("trn1.32xlarge")
    assert _identify(node).group.name == "trn"


def test_a_stale_list_is_ignored_if_other_sources_are_enough(node: Node) -> None:
    node.has("resource_config.json", resource_config({"trn": [OTHER]}))
    node.has("nodeinfo.json", NODE_INFO)
    found = _identify(node)
    assert found.group.name == "trn"
    assert "none of its 1 instances has an address of this node" in str(found.testimonies)


def test_node_info_alone_is_enough(node: Node) -> None:
    node.has("nodeinfo.json", NODE_INFO)
    assert _identify(node).group.name == "trn"


def test_leftover_node_info_of_an_image_is_ignored(node: Node) -> None:
    node.has("nodeinfo.json", NODE_INFO | {"ip_address": OTHER, "instance_group_name": "entry"})
    node.has("resource_config.json", resource_config({"trn": [FIRST]}))
    assert _identify(node).group.name == "trn"


def test_a_generated_cluster_name_matches_any_cluster(node: Node) -> None:
    node.publish(cluster=None)
    node.has("resource_config.json", resource_config({"trn": [FIRST]}, cluster="train-x7k2"))
    assert _identify(node).group.name == "trn"


@pytest.mark.parametrize(
    "parameters",
    [
        {"controller_group": "head", "login_group": "entry", "worker_groups": [{"instance_group_name": "trn"}]},
        {"controller_group": None, "worker_groups": None},
        {"worker_groups": ["odd", {"instance_group_name": 7}, {"instance_group_name": "of-another-time"}]},
        {},
    ],
)
def test_provisioning_parameters_that_do_not_contradict(node: Node, parameters: dict[str, Any]) -> None:
    node.has("provisioning_parameters.json", parameters)
    node.has("resource_config.json", resource_config({"trn": [FIRST]}))
    assert _identify(node).group.name == "trn"


MISLEADING: list[tuple[dict[str, Any], str, str]] = [
    ({}, "LFN14", "this node could be in the group entry or head or trn"),
    ({"resource_config.json": resource_config({"head": None, "trn": None})}, "LFN14", "it lists no instance yet"),
    ({"resource_config.json": resource_config({"trn": [OTHER]})}, "LFN14", "none of its 1 instances"),
    ({"resource_config.json": {}}, "LFN14", "it lists no instance yet"),
    ({"resource_config.json": {"ClusterConfig": None, "InstanceGroups": None}}, "LFN14", "it names no controller"),
    ({"resource_config.json": resource_config({"trn": [FIRST]}, cluster="other")}, "LFN11", "the cluster other"),
    ({"nodeinfo.json": NODE_INFO | {"cluster_name": "other"}}, "LFN11", "nodeinfo.json is for the cluster other"),
    ({"resource_config.json": resource_config({"gpu": [FIRST]})}, "LFN12", "has no group gpu"),
    ({"resource_config.json": resource_config({"trn": [FIRST]}, controller=SECOND)}, "LFN13", "no group matches"),
    ({"resource_config.json": resource_config({"head": [FIRST]})}, "LFN13", "which is not this node"),
    ({"resource_config.json": resource_config({"trn": [FIRST], "entry": [SECOND]})}, "LFN13", "several groups"),
    (
        {
            "resource_config.json": resource_config({"trn": [FIRST]}),
            "nodeinfo.json": NODE_INFO | {"instance_group_name": "entry"},
        },
        "LFN13",
        "10.1.0.12 is in trn",
    ),
    (
        {
            "resource_config.json": resource_config({"trn": [FIRST]}),
            "provisioning_parameters.json": {"controller_group": "trn"},
        },
        "LFN13",
        "has role Controller for group trn, but the manifest has Compute",
    ),
    ({"resource_config.json": json.dumps(resource_config({"trn": [FIRST]}))[:90]}, "LFN10", "perhaps incomplete"),
    ({"resource_config.json": ""}, "LFN10", "perhaps incomplete"),
    ({"resource_config.json": "null"}, "LFN10", "is a JSON NoneType"),
    ({"resource_config.json": []}, "LFN10", "is a JSON list"),
    ({"resource_config.json": {"ClusterConfig": []}}, "LFN10", "ClusterConfig of type list"),
    ({"resource_config.json": {"InstanceGroups": {}}}, "LFN10", "InstanceGroups of type dict"),
    ({"resource_config.json": {"InstanceGroups": ["trn"]}}, "LFN10", "an instance group that is not an object"),
    ({"resource_config.json": {"InstanceGroups": [{}]}}, "LFN10", "an instance group without a Name"),
    (
        {"resource_config.json": {"InstanceGroups": [{"Name": "trn", "Instances": [7]}]}},
        "LFN10",
        "an instance of trn that is not an object",
    ),
    ({"nodeinfo.json": NODE_INFO | {"ip_address": 7}}, "LFN10", "ip_address of type int"),
    ({"provisioning_parameters.json": "{"}, "LFN10", "provisioning_parameters.json is not valid JSON"),
]


@pytest.mark.parametrize(("files", "code", "cause"), MISLEADING)
def test_an_ambiguous_identity_is_reported(node: Node, files: dict[str, Any], code: str, cause: str) -> None:
    for name, content in files.items():
        node.has(name, content)
    with pytest.raises(Failure) as caught:
        _identify(node)
    assert caught.value.code.code == code, caught.value
    assert cause in caught.value.cause


def test_an_instance_type_alone_is_not_enough(node: Node) -> None:
    node.is_of_type("trn1.32xlarge")
    with pytest.raises(Failure) as caught:
        _identify(node)
    assert caught.value.code.code == "LFN14"


def test_a_type_that_contradicts_the_list_is_reported(node: Node) -> None:
    node.is_of_type("m5.xlarge")
    node.has("resource_config.json", resource_config({"trn": [FIRST]}))
    with pytest.raises(Failure, match=r"instance type: ml\.m5\.xlarge is in entry, head") as caught:
        _identify(node)
    assert caught.value.code.code == "LFN13"


def test_an_instance_type_of_no_group_is_ignored(node: Node) -> None:
    node.is_of_type("HVM domU")
    node.has("resource_config.json", resource_config({"trn": [FIRST]}))
    assert _identify(node).group.name == "trn"


def test_without_an_address_no_source_is_used(node: Node) -> None:
    (node.root / "proc/net/fib_trie").unlink()
    node.has("resource_config.json", resource_config({"trn": [FIRST]}, controller=None))
    node.has("nodeinfo.json", NODE_INFO)
    with pytest.raises(Failure) as caught:
        _identify(node)
    assert caught.value.code.code == "LFN14"


def _identify(node: Node) -> Identity:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_FLEET_ROOT", str(node.root))
        places = Places.of_this_node()
    return identify(places, read(node.bundle))
