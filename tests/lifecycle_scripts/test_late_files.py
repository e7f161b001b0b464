"""Platform files that are late, incomplete or wrong: the node waits only for errors that time can fix."""

import json
import subprocess
import time
from typing import Any

import pytest

from llm_fleet.rules.terms import LifecycleHook
from tests.lifecycle_scripts.runs import wait_until
from tests.lifecycle_scripts.throwaway_node import OWN_ADDRESSES, Node, resource_config

OWN = OWN_ADDRESSES[0]
RIGHT = json.dumps(resource_config({"head": ["10.1.0.5"], "trn": [OWN]}))
NODE_INFO = {"instance_group_name": "trn", "node_type": "compute", "ip_address": OWN, "cluster_name": "train"}
LONG = {"LLM_FLEET_PLATFORM_DEADLINE": "30"}


@pytest.mark.parametrize(
    ("first", "waiting"),
    [
        (None, "this node could be in the group entry or head or trn"),
        (RIGHT[:100], "perhaps incomplete"),
        ("", "perhaps incomplete"),
        (json.dumps(resource_config({"head": None, "trn": None})), "it lists no instance yet"),
        (json.dumps(resource_config({"trn": ["10.1.0.200"]})), "none of its 1 instances has an address of this node"),
    ],
)
def test_a_late_file_is_waited_for(node: Node, first: str | None, waiting: str) -> None:
    if first is not None:
        node.has("resource_config.json", first)
    process = node.start(stdout=subprocess.DEVNULL, env=LONG)
    log = node.logs / "llm-fleet.log"
    wait_until(lambda: log.exists() and "waiting for the platform's files" in log.read_text())
    assert waiting in log.read_text()
    node.has("resource_config.json", RIGHT)
    assert process.wait(20) == 0
    assert node.report()["node"]["group"] == "trn"


@pytest.mark.parametrize(
    ("files", "code", "cause"),
    [
        ({"resource_config.json": RIGHT[:100]}, "LFN10", "perhaps incomplete"),
        ({"resource_config.json": "null"}, "LFN10", "is a JSON NoneType"),
        ({}, "LFN14", "there is no such file"),
        ({"resource_config.json": resource_config({"trn": ["10.1.0.200"]})}, "LFN14", "none of its 1 instances"),
        ({"resource_config.json": RIGHT, "nodeinfo.json": "{"}, "LFN10", "nodeinfo.json is not valid JSON"),
    ],
)
def test_a_file_that_stays_invalid_is_reported_after_the_deadline(
    node: Node, files: dict[str, Any], code: str, cause: str
) -> None:
    for name, content in files.items():
        node.has(name, content)
    ended = node.run(LLM_FLEET_PLATFORM_DEADLINE="0.3")
    assert (ended.code, ended.report["code"]) == (1, code)
    assert cause in ended.report["cause"]
    assert "gave up after 0.3 s" in ended.report["cause"]


@pytest.mark.parametrize(
    ("config", "code"),
    [
        (resource_config({"trn": [OWN]}, cluster="other"), "LFN11"),
        (resource_config({"gpu": [OWN]}), "LFN12"),
        (resource_config({"trn": [OWN]}, controller=OWN_ADDRESSES[1]), "LFN13"),
    ],
)
def test_errors_that_waiting_cannot_fix_are_reported_immediately(node: Node, config: dict[str, Any], code: str) -> None:
    node.has("resource_config.json", config)
    began = time.monotonic()
    ended = node.run(**LONG)
    assert (ended.code, ended.report["code"]) == (1, code)
    assert time.monotonic() - began < 10


def test_a_late_controller_address_is_waited_for(node: Node) -> None:
    """With OnCreate, Slurm's configuration comes from the controller: a node waits for a late address."""
    node.publish(LifecycleHook.ON_CREATE)
    node.has("resource_config.json", resource_config({"head": None, "trn": [OWN]}, controller=None))
    process = node.start("on_create.sh", stdout=subprocess.DEVNULL, env=LONG)
    log = node.logs / "llm-fleet.log"
    wait_until(lambda: log.exists() and "they list no controller address yet" in log.read_text())
    node.has("resource_config.json", RIGHT)
    assert process.wait(20) == 0


def test_a_missing_controller_address(node: Node) -> None:
    node.publish(LifecycleHook.ON_CREATE)
    node.has("resource_config.json", resource_config({"head": None, "trn": [OWN]}, controller=None))
    ended = node.run("on_create.sh", LLM_FLEET_PLATFORM_DEADLINE="0.5")
    assert "resource_config.json names no controller after 0.5 s; continuing" in ended.out


def test_an_identified_node_continues_without_the_list_after_the_deadline(node: Node) -> None:
    node.has("nodeinfo.json", NODE_INFO)
    began = time.monotonic()
    ended = node.run(LLM_FLEET_PLATFORM_DEADLINE="0.5")
    assert (ended.code, ended.report["node"]["group"]) == (0, "trn")
    assert time.monotonic() - began > 0.5
    assert "after 0.5 s; continuing with the other sources" in ended.out


def test_an_identified_node_does_not_wait_for_an_old_list(node: Node) -> None:
    node.has("nodeinfo.json", NODE_INFO)
    node.has("resource_config.json", resource_config({"trn": ["10.1.0.200"]}))
    began = time.monotonic()
    assert node.run(**LONG).code == 0
    assert time.monotonic() - began < 10
