"""`--list` and `--dry-run`: their output is correct, and they change nothing."""

import json
from pathlib import Path

from llm_fleet.rules.terms import LifecycleHook
from tests.lifecycle_scripts.step_files import step
from tests.lifecycle_scripts.throwaway_node import Ended, Node

FILES = {
    "base": step("base"),
    "top": step("top", needs=("base",), after=("side",)),
    "side": step("side"),
    "head": step("head", more="'roles': frozenset({CONTROLLER})"),
    "early": step("early", more="'hooks': frozenset({'OnCreate'})"),
    "needless": step("needless", more="'skip': lambda node: f'{node.group.name} does without'"),
    "unwanted": step("unwanted"),
}
SKIP = {"skip": ["unwanted"], "own": []}
SKIPPED = {
    "head": "not for the role Compute",
    "early": "not in OnInitComplete",
    "needless": "trn does without",
    "unwanted": "skipped in fleet.json",
}


def test_list_reports_waves_and_why_others_are_skipped(worker: Node) -> None:
    worker.publish(step_files=FILES, steps=SKIP)
    before = tree(worker.root)
    reported = json.loads(look(worker, "--list", "--json").out)
    assert [[entry["name"] for entry in wave] for wave in reported["waves"]] == [["base", "side"], ["top"]]
    assert reported["waves"][1][0]["needs"] == ["base"]
    assert reported["waves"][1][0]["after"] == ["side"]
    assert reported["skipped"] == SKIPPED
    assert tree(worker.root) == before


def test_list_reads_well(worker: Node) -> None:
    worker.publish(step_files=FILES, steps=SKIP)
    lines = look(worker, "--list").out.splitlines()
    assert lines[0] == "OnInitComplete on a node of group trn, role Compute:"
    assert "  2  top                   top is made; after base, (side)" in lines
    assert "  -  unwanted              skipped: skipped in fleet.json" in lines


def test_list_needs_no_node(node: Node) -> None:
    node.publish(LifecycleHook.ON_CREATE, step_files=FILES, steps=SKIP)
    ended = node.run("on_create.sh", "--list", "--role", "Controller", "--json", LLM_FLEET_ROOT="/nowhere")
    assert (ended.code, ended.err) == (0, "")
    waves = json.loads(ended.out)["waves"]
    assert [[entry["name"] for entry in wave] for wave in waves] == [["base", "early", "head", "side"], ["top"]]


def test_list_of_a_role_without_a_group_is_rejected(node: Node) -> None:
    ended = node.run("on_create.sh", "--list", "--role", "Controller", "--group", "trn")
    assert (ended.code, "LFN08" in ended.err, "its groups are head (Controller)" in ended.err) == (1, True, True)


def test_dry_run_reports_what_would_be_applied_and_changes_nothing(worker: Node) -> None:
    worker.publish(step_files=FILES, steps=SKIP)
    (worker.root / "made").mkdir()
    (worker.root / "made/base").write_text("as it should be")
    before = tree(worker.root)
    ended = worker.run("on_init_complete.sh", "--dry-run")
    assert (ended.code, ended.err) == (2, "")
    lines = ended.out.splitlines()
    assert "base                  verified" in lines
    assert "top                   would be applied: /made/top is not as it should be" in lines
    assert tree(worker.root) == before
    assert not worker.logs.exists()


def test_dry_run_of_a_correct_node_ends_with_0(worker: Node) -> None:
    worker.publish(step_files=FILES, steps=SKIP)
    worker.run()
    before = tree(worker.root)
    reported = json.loads(look(worker, "--dry-run", "--json").out)
    assert {entry["name"]: entry["state"] for entry in reported["steps"]} == dict.fromkeys(
        ("base", "side", "top"), "verified"
    )
    assert tree(worker.root) == before


def test_dry_run_of_some_steps_also_verifies_their_needs(worker: Node) -> None:
    worker.publish(step_files=FILES, steps=SKIP)
    ended = worker.run("on_init_complete.sh", "--dry-run", "--json", "--only", "top")
    assert [entry["name"] for entry in json.loads(ended.out)["steps"]] == ["base", "top"]


def test_an_invalid_bundle_is_reported_without_writing_files(worker: Node) -> None:
    (worker.bundle / "README.md").unlink()
    before = tree(worker.root)
    for mode in ("--list", "--dry-run"):
        ended = worker.run("on_init_complete.sh", mode)
        assert (ended.code, "LFN06" in ended.err) == (1, True)
    assert tree(worker.root) == before


def look(node: Node, *arguments: str) -> Ended:
    ended = node.run("on_init_complete.sh", *arguments)
    assert (ended.code, ended.err) == (0, "")
    return ended


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its time and content, every folder with its time."""
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted([root, *root.rglob("*")])
    }
